package main

import (
	"strings"
	"testing"

	"wirelab/hermes/broker"
)

// A node is given as status prints it: by its id or its name.
func TestNodesByName(t *testing.T) {
	t.Parallel()
	members := []broker.Member{
		{ID: 1, Name: "node-1"},
		{ID: 9, Name: "node-9"},
		{ID: 3, Name: "twin"},
		{ID: 4, Name: "twin"},
	}
	for name, want := range map[string]string{
		"node-9": "", "node-7": `no node is named "node-7"; the cluster's nodes are 1 (node-1), 9 (node-9)`,
		"twin": "nodes 3 and 4",
	} {
		id, err := nodeNamed(members, name)
		if (want == "") != (err == nil && id == 9) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %d, %v", name, id, err)
		}
	}
	for text, ok := range map[string]bool{"9": true, "node-9": true, "0": false, "": false} {
		if _, err := parseNode(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
