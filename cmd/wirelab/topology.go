package main

// topologyHelp is what --published-topology says of itself.
const topologyHelp = "use RabbitMQ as the published pipeline does: topic exchange logs_topic, no confirms, a queue " +
	"that ends with its listener; entries can be lost"
