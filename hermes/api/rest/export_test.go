package rest

import (
	"slices"

	"wirelab/hermes"
)

// Routes are the methods and paths that are served.
func Routes() []string {
	var all []string
	for _, one := range routes() {
		for method := range one.methods {
			all = append(all, method+" "+one.path)
		}
	}
	slices.Sort(all)
	return all
}

// ReadMessage reads a message of JSON.
func ReadMessage(text []byte) (hermes.Message, error) {
	var m messageJSON
	if err := decodeJSON(text, &m); err != nil {
		return hermes.Message{}, err
	}
	return m.message()
}

// Deliver writes a message as a subscriber gets it.
func Deliver(topic string, offset uint64, time int64, attempt uint32, m *hermes.Message) []byte {
	return appendDelivered(nil, &place{topic, offset, time, attempt}, m, false)
}

// ValueLimit and the like are bounds that tests go beyond.
const (
	ValueLimit = valueLimit
	JSONLimit  = jsonLimit
)

// Holding is how many bytes of bodies are counted as held.
func (d *API) Holding() int64 { return d.config.Intake.Counts().Bytes }
