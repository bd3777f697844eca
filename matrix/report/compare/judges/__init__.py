"""How far judges' scores are to be trusted in a comparison: people's labels beside them."""
