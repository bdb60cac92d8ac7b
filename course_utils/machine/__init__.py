"""Does this machine work?"""
