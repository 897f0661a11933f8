"""Compiled functions of the search, and the arrays that they work on.

A kernel contains the functions that it calls, so a change of any module here compiles all anew.
"""
