"""How does it learn?"""
