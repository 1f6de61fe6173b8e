"""Replace, Wrap, Add: an object of the body at a target's place, whatever that place is."""
