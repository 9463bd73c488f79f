package main

// topologyHelp is the help text of --published-topology.
const topologyHelp = "use RabbitMQ as the published pipeline does: topic exchange logs_topic, no confirms, a queue " +
	"that ends with its listener; entries can be lost"
