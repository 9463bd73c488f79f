package api_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
)

// graphqlCaller asks by POST, and subscribes by server-sent events.
type graphqlCaller struct {
	c   *cluster
	m   broker.Member
	who string
}

func (g *graphqlCaller) as(who string) caller { return &graphqlCaller{g.c, g.m, who} }

// graphqlReply is all that answers hold that are compared.
type graphqlReply struct {
	Verdict *graphqlReply
	Error   *struct{ Code string }

	Node, Leader           string
	Count                  int
	Offset, Index          *uint64
	Duplicate, Provisional bool
	Members, Groups        []struct{ Name string }
	Name                   string
	First, Next            uint64
	RetentionAge           string
	AckTimeout             string
	MaxAttempts            int
	Floor, Lag, Dead       uint64
	Subscription           string
	Attempt                uint32
	Payload, PayloadBase64 *string
	Headers                []struct{ Name, Value string }
	Gap                    broker.Range
}

func (v *graphqlReply) verdict() string {
	var offset uint64
	if v.Offset != nil {
		offset = *v.Offset
	}
	return verdictText(v.Count, offset, v.Duplicate, v.Provisional, v.Index != nil)
}

func (v *graphqlReply) topic() string {
	age, _ := time.ParseDuration(v.RetentionAge) // "" is 0
	return topicText(v.Name, v.First, v.Next, age)
}

func (v *graphqlReply) group() string {
	ack, _ := time.ParseDuration(v.AckTimeout)
	return groupText(v.Name, v.Floor, v.Lag, v.Dead, ack, v.MaxAttempts)
}

func (v *graphqlReply) cluster() string {
	return clusterText(number(v.Node), number(v.Leader), len(v.Members))
}

// The requested fields of each thing.
const (
	ofVerdict = `{count offset duplicate provisional index}`
	ofTopic   = `{name first next retentionAge}`
	ofGroup   = `{name floor lag dead ackTimeout maxAttempts}`
	ofCluster = `{node leader members{name}}`
)

// graphqlRuns are runs as inputs, their payloads in base64.
func graphqlRuns(runs []run) (all []object) {
	for _, r := range runs {
		messages := []object{}
		for _, p := range r.payloads {
			m := object{"payloadBase64": base64.StdEncoding.EncodeToString(p)}
			if r.key != "" || r.headers != nil { // each is a value more, of which a request has so many
				m["key"], m["headers"] = r.key, r.headersOf("name", "value")
			}
			messages = append(messages, m)
		}
		one := object{"topic": r.topic, "messages": messages}
		if r.mode != "" {
			one["mode"] = strings.ToUpper(r.mode)
		}
		if r.producer != 0 {
			one["producer"] = strconv.FormatUint(r.producer, 10)
		}
		if r.sequence != 0 {
			one["sequence"] = r.sequence
		}
		all = append(all, one)
	}
	return all
}

func (g *graphqlCaller) ask(w want) (reply, hint string, err error) {
	v := object{
		"topic": w.topic, "group": w.group, "from": w.from, "age": w.age.String(), "attempts": w.attempts,
		"id": strconv.FormatUint(w.id, 10),
	}
	topic, group := (*graphqlReply).topic, (*graphqlReply).group
	switch w.call {
	case "publish":
		return g.one((*graphqlReply).verdict,
			`mutation($topic: String!, $messages: [MessageInput!]!, $mode: Mode! = CONSISTENT, $producer: ID, $sequence: Uint64)
			{ it: publish(topic: $topic, messages: $messages, mode: $mode, producer: $producer, sequence: $sequence) `+ofVerdict+
				`}`, graphqlRuns(w.runs)[0])
	case "batch":
		return g.batch(w)
	case "producer":
		data, hint, err := g.question(`mutation{openProducer}`, nil)
		return strings.Trim(string(data["openProducer"]), `"`), hint, err
	case "topics":
		return g.topics(w)
	case "topic":
		return g.one(topic, `query($topic: String!){ it: topic(name: $topic, linearizable: true) `+ofTopic+`}`, v)
	case "create", "configure":
		return g.one(topic, `mutation($topic: String!, $age: String!){ it: `+w.call+
			`Topic(name: $topic, retentionAge: $age) `+ofTopic+`}`, v)
	case "delete":
		_, hint, err := g.question(`mutation($topic: String!){ it: deleteTopic(name: $topic) }`, v)
		return "", hint, err
	case "group":
		return g.one(group,
			`query($topic: String!, $group: String!){ it: group(topic: $topic, name: $group) `+ofGroup+`}`, v)
	case "groups":
		return g.one(func(v *graphqlReply) string { return names(v.Groups) },
			`query($topic: String!){ it: topic(name: $topic) { groups{name} } }`, v)
	case "makeGroup":
		return g.one(group,
			`mutation($topic: String!, $group: String!, $age: String!, $attempts: Int!){ it: createGroup(topic: $topic, name: $group, ackTimeout: $age, maxAttempts: $attempts) `+ofGroup+`}`, v)
	case "seek":
		return g.one(group,
			`mutation($topic: String!, $group: String!, $from: String!){ it: seekGroup(topic: $topic, name: $group, from: $from) `+ofGroup+`}`, v)
	case "deleteGroup":
		_, hint, err := g.question(`mutation($topic: String!, $group: String!){ it: deleteGroup(topic: $topic, name: $group) }`, v)
		return "", hint, err
	case "cluster":
		return g.one((*graphqlReply).cluster, `{ it: cluster `+ofCluster+`}`, nil)
	case "promote":
		return g.one(func(v *graphqlReply) string { return clusterText(0, number(v.Leader), len(v.Members)) },
			`mutation($id: ID!){ it: promote(id: $id) `+ofCluster+`}`, v)
	}
	g.c.Fatalf("no call %s", w.call)
	return "", "", nil
}

func (g *graphqlCaller) topics(w want) (reply, hint string, err error) {
	data, hint, err := g.question(`query($topic: String!, $limit: Int!){ it: topics(prefix: $topic, limit: $limit) {name} }`, object{"topic": w.topic, "limit": w.id})
	if err != nil {
		return "", hint, err
	}
	var all []struct{ Name string }
	err = json.Unmarshal(data["it"], &all)
	return names(all), hint, err
}

func (g *graphqlCaller) batch(w want) (reply, hint string, err error) {
	data, hint, err := g.question(`mutation($runs: [RunInput!]!){ it: publishBatch(runs: $runs) { verdict `+ofVerdict+
		` error{code} } }`, object{"runs": graphqlRuns(w.runs)})
	if err != nil {
		return "", hint, err
	}
	var verdicts []graphqlReply
	if err := json.Unmarshal(data["it"], &verdicts); err != nil {
		return "", hint, err
	}
	var all []string
	for _, v := range verdicts {
		if v.Error != nil {
			all = append(all, v.Error.Code)
		} else {
			all = append(all, v.Verdict.verdict())
		}
	}
	return strings.Join(all, ", "), hint, nil
}

// one asks for one thing, which the question calls "it".
func (g *graphqlCaller) one(show func(*graphqlReply) string, query string,
	variables object,
) (reply, hint string, err error) {
	data, hint, err := g.question(query, variables)
	if err != nil {
		return "", hint, err
	}
	var v graphqlReply
	if err := json.Unmarshal(data["it"], &v); err != nil {
		return "", hint, fmt.Errorf("%s: %w", data["it"], err)
	}
	return show(&v), hint, nil
}

// graphqlAnswer is a reply, or an event of a subscription.
type graphqlAnswer struct {
	Data   map[string]json.RawMessage
	Errors []struct {
		Message    string
		Extensions struct{ Code, Node, Reason string }
	}
}

func (a *graphqlAnswer) err() error {
	if len(a.Errors) > 0 {
		return coded(a.Errors[0].Extensions.Code, a.Errors[0].Extensions.Reason+" "+a.Errors[0].Message)
	}
	return nil
}

// used leaves out variables that a query does not name, which the API would refuse.
func used(query string, variables object) object {
	kept := object{}
	for name, value := range variables {
		if strings.Contains(query, "$"+name+":") {
			kept[name] = value
		}
	}
	return kept
}

// question posts one.
func (g *graphqlCaller) question(query string, variables object) (data map[string]json.RawMessage, hint string,
	err error,
) {
	ctx, cancel := context.WithTimeout(g.c.Context(), patience)
	defer cancel()
	w, err := g.c.send(ctx, g.who, "POST", "http://"+g.m.HTTP+"/graphql",
		object{"query": query, "variables": used(query, variables)})
	if err != nil {
		return nil, "", err
	}
	defer w.Body.Close()
	hint = w.Header.Get("X-Leader-Hint")
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, hint, err
	}
	var a struct {
		graphqlAnswer
		Code, Detail string // of the guard before the API
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, hint, fmt.Errorf("%s: %w", text, err)
	}
	if a.Code != "" {
		return nil, hint, coded(a.Code, a.Detail)
	}
	return a.Data, hint, a.err()
}

// graphqlStream is a subscription.
type graphqlStream struct {
	g     *graphqlCaller
	end   context.CancelFunc
	lines *bufio.Scanner
	id    string
	err   error
}

func (g *graphqlCaller) subscribe(s start) stream {
	variables := object{"topic": s.topic, "inFlight": s.inFlight, "auto": s.auto}
	if s.from != "" {
		variables["from"] = s.from
	}
	if s.group != "" {
		variables["group"] = s.group
	}
	return g.follow("/graphql",
		`subscription($topic: String!, $from: String, $group: String, $inFlight: Int!, $auto: Boolean!)
		{ it: messages(topic: $topic, from: $from, group: $group, inFlight: $inFlight, autoAck: $auto) { subscription offset attempt payload payloadBase64 headers{name value} gap{first last} } }`, variables)
}

// follow reads a subscription's events.
func (g *graphqlCaller) follow(path, query string, variables object) *graphqlStream {
	ctx, cancel := context.WithTimeout(g.c.Context(), patience)
	g.c.Cleanup(cancel)
	s := &graphqlStream{g: g, end: cancel}
	text, err := json.Marshal(object{"query": query, "variables": variables})
	if err != nil {
		g.c.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.m.HTTP+path, strings.NewReader(string(text)))
	if err != nil {
		g.c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if g.who != "" {
		r.Header.Set("Authorization", "Bearer "+g.c.tokens[g.who])
	}
	w, err := client.Do(r)
	if err != nil {
		s.err = err
		return s
	}
	g.c.Cleanup(func() { _ = w.Body.Close() })
	if w.StatusCode != http.StatusOK {
		var a struct {
			graphqlAnswer
			Code string
		}
		if s.err = json.NewDecoder(w.Body).Decode(&a); s.err == nil && a.Code != "" {
			s.err = coded(a.Code, "")
		} else if s.err == nil {
			s.err = a.err()
		}
		return s
	}
	s.lines = bufio.NewScanner(w.Body)
	s.lines.Buffer(nil, 8<<20)
	return s
}

func (s *graphqlStream) next() (got, error) {
	v, err := s.item()
	if err != nil {
		return got{}, err
	}
	one := got{attempt: v.Attempt, gap: v.Gap, headers: map[string]string{}}
	if v.Offset != nil {
		one.offset = *v.Offset
	}
	s.id = v.Subscription
	if v.Payload != nil {
		one.payload = *v.Payload
	}
	if v.PayloadBase64 != nil {
		bytes, err := base64.StdEncoding.DecodeString(*v.PayloadBase64)
		if err != nil {
			return got{}, err
		}
		one.payload = string(bytes)
	}
	for _, h := range v.Headers {
		one.headers[h.Name] = h.Value
	}
	return one, nil
}

// item reads an event.
func (s *graphqlStream) item() (v graphqlReply, err error) {
	for s.err == nil && s.lines.Scan() {
		data, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		if !ok || data == "" {
			continue
		}
		var a graphqlAnswer
		if s.err = json.Unmarshal([]byte(data), &a); s.err != nil {
			break
		}
		if s.err = a.err(); s.err != nil {
			break
		}
		if a.Data["it"] == nil {
			continue
		}
		return v, json.Unmarshal(a.Data["it"], &v)
	}
	if s.err == nil {
		if s.err = s.lines.Err(); s.err == nil {
			s.err = io.ErrUnexpectedEOF
		}
	}
	return v, s.err
}

func (s *graphqlStream) leave() { s.end() }

func (s *graphqlStream) ack(back bool, offsets ...uint64) error {
	_, err := s.g.settle(s.id, back, offsets...)
	return err
}

// settle acknowledges by a subscription's id, or gives back.
func (g *graphqlCaller) settle(id string, back bool, offsets ...uint64) (hint string, err error) {
	ranges := []object{}
	for _, o := range offsets {
		ranges = append(ranges, object{"first": o, "last": o})
	}
	query := `mutation($id: ID!, $ranges: [RangeInput!]!){ ack(subscription: $id, ranges: $ranges) }`
	if back {
		query = `mutation($id: ID!, $ranges: [RangeInput!]!){ nack(subscription: $id, ranges: $ranges, reason: "not today") }`
	}
	_, hint, err = g.question(query, object{"id": id, "ranges": ranges})
	return hint, err
}

// extensionOf is the node that an acknowledgement at a wrong one is sent to.
func extensionOf(t *testing.T, c *cluster, address, id string) string {
	t.Helper()
	w, err := c.send(t.Context(), "root", "POST", "http://"+address+"/graphql",
		object{
			"query": `mutation($id: ID!){ ack(subscription: $id, ranges: [{first: 0, last: 0}]) }`,
			"variables": object{
				"id": id,
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var a graphqlAnswer
	if err := json.NewDecoder(w.Body).Decode(&a); err != nil || len(a.Errors) == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	return a.Errors[0].Extensions.Node
}
