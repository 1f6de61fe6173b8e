"""What writes rows and bodies."""
