"""The port to the metadata store (`port`), its adapters (`memory`, `zookeeper`) and Kafka's node
paths and JSON forms (`znodes`)."""
