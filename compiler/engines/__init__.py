"""The engines: what each must answer (`engine`, `observing`, `adopting`), which there are (`known`, `observers`), and each one's own package."""
