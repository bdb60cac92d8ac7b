"""Why is memory full?"""
