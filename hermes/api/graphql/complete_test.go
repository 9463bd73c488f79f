package graphql_test

import (
	"fmt"
	"strings"
	"testing"
)

// A subscriber that ends a subscription while it is sent to keeps its connection, and the others on it.
func TestCompleteWhileSending(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.ask("/graphql",
		`mutation{createTopic(name:"t"){name} publish(topic:"t",messages:[{payload:"a"},{payload:"b"},{payload:"c"},{payload:"d"}]){count}}`)
	k := s.open("/graphql")
	for i := range 300 {
		id := fmt.Sprint(i)
		k.subscribe(id, `subscription{messages(topic:"t",from:"oldest"){payload}}`)
		for { // until there is something of this one, be it a refusal: the earlier ones end in their time
			_, text, err := k.conn.Read(t.Context())
			if err != nil {
				t.Fatalf("subscription %s: %v", id, err)
			}
			if strings.Contains(string(text), `"id":"`+id+`"`) {
				break
			}
		}
		k.send(`{"id":"` + id + `","type":"complete"}`)
	}
}
