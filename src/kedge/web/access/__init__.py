"""Who may do what: tokens, sessions, sign-in by OIDC, roles per cluster."""
