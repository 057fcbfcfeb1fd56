"""One function per intent of a person. Whatever the route (button, text, form), it ends here, with one authorisation.

Each takes the services and the actor, raises Refusal when the rules say no, and stores all it does in one transaction.
"""
