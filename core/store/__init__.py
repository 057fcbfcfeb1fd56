"""What is kept: tables, sessions, and one module of functions per aggregate. The only room that speaks SQL.

Functions take a session and the workspace they act in; whoever opens the session owns the transaction. Functions named
`do_*` write and assume that rights were checked.
"""
