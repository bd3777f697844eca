"""The shapes in which clients ask models: OpenAI's chat and responses, Anthropic's messages.

Values only: what a request allows, what an answer reports, and how a refusal is worded. Bodies
themselves are left as they are.
"""
