"""Scales of colour that readers who do not see red or green can tell apart."""

# Signed numbers, 0 in the middle. From ColorBrewer's PuOr, whose ends differ in
# lightness and in hue. Source: Harrower and Brewer 2003.
DIVERGING = [[0.0, "#b35806"], [0.5, "#f7f7f7"], [1.0, "#542788"]]
# Lightness alone tells the number, and black letters stay legible on all of it.
PAPER = [[0.0, "#ffffff"], [1.0, "#f0a24a"]]
# Shares of attention, from 0 to 1: the blue of the page's theme in the light, as the
# heatmap of a head has it.
SHARES = ("#F1F6FC", "#B5D0EC", "#689ED2", "#2B69AD", "#082A55")
# From viridis, lightness rising all the way. Source: Smith and van der Walt 2015.
SEQUENTIAL = [
    [0.0, "#440154"],
    [0.25, "#3b528b"],
    [0.5, "#21918c"],
    [0.75, "#5ec962"],
    [1.0, "#fde725"],
]
