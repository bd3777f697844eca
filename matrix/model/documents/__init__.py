"""What users write, with its lines: documents, mistakes in them, and what goes over them."""
