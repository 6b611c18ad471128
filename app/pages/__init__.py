"""The pages: static skeletons that the browser modules under app/static fill."""
