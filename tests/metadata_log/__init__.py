"""Files of a controller's directory."""
