package main

// lasts is what commands do while one waits for them; see [cli.Lasts]. A command that is not here must end
// within two seconds: the test of this list has the reason of each.
func lasts() map[string]string {
	return map[string]string{
		"backup":           "writing the backup",
		"check":            "reading the directory",
		"cluster":          "starting the nodes",
		"cluster join":     "letting the node in",
		"cluster promote":  "promoting the node",
		"cluster remove":   "taking the node out",
		"cluster transfer": "letting the node lead",
		"dev":              "starting the node",
		"export":           "exporting the directory",
		"group create":     "making the group",
		"group delete":     "deleting groups",
		"group list":       "asking for the groups",
		"group seek":       "moving the group",
		"group show":       "asking for the group",
		"pub":              "publishing",
		"ready":            "asking the node whether it is ready",
		"recover":          "recovering the directory",
		"restore":          "restoring the backup",
		"server":           "starting the node",
		"status":           "asking the cluster",
		"sub":              "subscribing",
		"topic configure":  "changing the topic",
		"topic create":     "making the topic",
		"topic delete":     "deleting topics",
		"topic list":       "asking for the topics",
		"topic show":       "asking for the topic",
	}
}
