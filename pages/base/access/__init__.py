"""For whom the app is served, and what one visitor may ask for."""
