"""Stories: commands, and the full trace of what the controller then did.

A story is a text file. Lines that begin with `>` are commands; what stands below one is what
happened, written by the player. `make rewrite` writes all stories anew: the difference is to be
read line by line before it is kept.

    > brokers 1 2 3
    > create t 0=1,2 1=2,3      a topic, partition by partition
    > expand t 2=3,1            more partitions
    > isr t-0 1,2               the leader asks for this ISR
    > reassign t-0 3,1          an order to move; `cancel t-0` gives it up
    > down 2 · up 2 · shutdown 2 · delete t · elect t-0
    > crash after WriteLeaderships 2    the controller will die after its second such order
    > failover 101              another controller takes over
"""
