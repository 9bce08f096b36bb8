"""What pages share: engine handle, language, errors, pickers, exports."""
