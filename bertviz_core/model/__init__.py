"""The network, in `keras.ops` only. Importing it loads Keras.

Shapes: B batch, T tokens, Q query tokens, K key tokens (Q = K = T in BERT), N heads, D
head size, H hidden size (H = N * D), I intermediate size, L layers, V vocabulary, C
classes, P asked positions.

What most layers and functions take is said here, once. `config` has sizes, rates and
`initializer_range`; `kernel_initializer` begins kernels and tables, see
`layers.start_values`; `input_ids` and `token_type_ids` (0 first segment, 1 second) are
int `[B, T]`, `hidden_states` float `[B, T, H]`; `attention_mask` is int, 1 where a row
may look, 0 for padding: `[B, T]`, `[B, Q, K]` or `[B or 1, N or 1, Q or 1, K]`, or
`None` for everywhere, without a pass over the scores. For `tap` see `taps`; `training`
turns dropout on. `keep` names what is to be returned: "output", and activations of
`taps`.
"""

from bertviz_core.quiet import import_keras

import_keras()

import keras  # noqa: E402

# Here, where one thread comes by: two that make the first constants of OpenVINO 2026.4
# at a time wait for each other without end, as did a page that was opened with another
# model while the server warmed up with its own.
if keras.backend.backend() == "openvino":
    keras.ops.convert_to_tensor(0)
