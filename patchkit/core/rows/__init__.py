"""What a pack declares: rows, targets, packs, and the rules that refuse a malformed one."""
