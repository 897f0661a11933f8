"""The metadata of a KRaft cluster: records, the image that they make, and what requests write."""
