"""Colours for heads that are drawn over one another."""

# Twelve that stay apart, also in red-green blindness: searched for the largest smallest distance (CIEDE2000 at least 20
# between any two, 13 as seen with protanopia or deuteranopia by Machado et al. 2009), among colours with a contrast of
# at least 2 to white and 2.6 to the dark theme. In this order the first few are as far apart as they can be.
HEAD_COLOURS = (
    "#8877ff", "#bbbb00", "#aa2200", "#ee3388", "#665555", "#bbaabb",
    "#aa7744", "#1133ff", "#ee9988", "#77bbff", "#558888", "#992288",
)  # fmt: skip
