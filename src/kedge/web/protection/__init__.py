"""What every request passes before it is looked at: limits, same-origin checks, headers, audit.

Each module is one ASGI middleware. From the outside in:

    security_headers   headers of every answer, and the id of every request
    refusal_audit      refusals of changes are written to the audit, wherever they come from
    failures           what fails unexpectedly is answered as a problem
    trusted_hosts      only the server's own names: no DNS rebinding
    rate_limit         requests and failed sign-ins per client
    cross_site         requests that another site's page has sent are refused
    body_limit         bodies of limited size
    well_formed        no NUL in texts, no body that is not JSON
"""
