// Placeholder until the layer has sources.
