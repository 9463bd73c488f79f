package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// coded is an error with the code of a name and what the API said.
func coded(name, said string) error {
	code, ok := status.ParseCode(name)
	if !ok {
		return fmt.Errorf("there is no code %q", name)
	}
	return status.Errorf(code, "%s", said)
}

// send sends a request with JSON, or without.
func (c *cluster) send(ctx context.Context, who, method, address string, body any) (*http.Response, error) {
	var text io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, text)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+c.tokens[who])
	}
	return client.Do(r)
}

// client keeps no connection: the APIs could not stop before it lets go. It follows no redirect by itself.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// restCaller calls over JSON.
type restCaller struct {
	c   *cluster
	m   broker.Member
	who string
}

func (r *restCaller) as(who string) caller { return &restCaller{r.c, r.m, who} }

// restReply is all that replies hold that are compared.
type restReply struct {
	Code     string
	Detail   string
	Reason   string
	Leader   string
	Node     string
	Producer string
	Count    int
	Offset   *uint64
	Index    *uint64
	Verdicts []struct {
		restReply
		Error *struct{ Code string }
	}
	Duplicate, Provisional bool
	Topics, Groups         []struct{ Name string }
	Members                json.RawMessage // of a group a number, of a cluster who they are
	Name                   string
	First, Next            uint64
	RetentionAge           string `json:"retention_age"`
	AckTimeout             string `json:"ack_timeout"`
	MaxAttempts            int    `json:"max_attempts"`
	Floor, Lag, Dead       uint64
}

func (v *restReply) verdict() string {
	var offset uint64
	if v.Offset != nil {
		offset = *v.Offset
	}
	return verdictText(v.Count, offset, v.Duplicate, v.Provisional, v.Index != nil)
}

func (v *restReply) topic() string {
	age, _ := time.ParseDuration(v.RetentionAge) // "" is 0
	return topicText(v.Name, v.First, v.Next, age)
}

func (v *restReply) members() int {
	var all []json.RawMessage
	_ = json.Unmarshal(v.Members, &all) // none is 0
	return len(all)
}

func (v *restReply) group() string {
	ack, _ := time.ParseDuration(v.AckTimeout)
	return groupText(v.Name, v.Floor, v.Lag, v.Dead, ack, v.MaxAttempts)
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64) // "" is 0
	return n
}

func names(all []struct{ Name string }) string {
	var list []string
	for _, one := range all {
		list = append(list, one.Name)
	}
	return strings.Join(list, " ")
}

type object = map[string]any

// restRuns are runs as JSON has them, their payloads in base64.
func restRuns(runs []run) (all []object) {
	for _, r := range runs {
		messages := []object{}
		for _, p := range r.payloads {
			messages = append(messages, object{
				"payload_base64": append([]byte{}, p...), "key": r.key,
				"headers": r.headersOf("name", "value"),
			})
		}
		one := object{"topic": r.topic, "mode": r.mode, "messages": messages, "sequence": r.sequence}
		if r.producer != 0 {
			one["producer"] = strconv.FormatUint(r.producer, 10)
		}
		all = append(all, one)
	}
	return all
}

func (r *restCaller) ask(w want) (reply, hint string, err error) {
	topics := "/v1/topics"
	topic := topics + "/" + url.PathEscape(w.topic)
	group := topic + "/groups/" + url.PathEscape(w.group)
	switch w.call {
	case "publish":
		one := restRuns(w.runs)[0]
		query := url.Values{}
		for _, name := range []string{"mode", "producer", "sequence"} {
			if text := fmt.Sprint(one[name]); one[name] != nil && text != "" && text != "0" {
				query.Set(name, text)
			}
		}
		return r.do((*restReply).verdict, "POST",
			topics+"/"+url.PathEscape(w.runs[0].topic)+"/messages?"+query.Encode(),
			object{"messages": one["messages"]})
	case "batch":
		return r.do(func(v *restReply) string {
			var all []string
			for i := range v.Verdicts {
				if e := v.Verdicts[i].Error; e != nil {
					all = append(all, e.Code)
				} else {
					all = append(all, v.Verdicts[i].verdict())
				}
			}
			return strings.Join(all, ", ")
		}, "POST", "/v1/publish", object{"runs": restRuns(w.runs)})
	case "producer":
		return r.do(func(v *restReply) string { return v.Producer }, "POST", "/v1/producers", nil)
	case "topic":
		return r.do((*restReply).topic, "GET", topic+"?linearizable=true", nil)
	case "topics":
		return r.do(func(v *restReply) string { return names(v.Topics) }, "GET",
			fmt.Sprintf("%s?prefix=%s&limit=%d", topics,
				url.QueryEscape(w.topic), w.id), nil)
	case "create":
		return r.do((*restReply).topic, "PUT", topic, object{"retention_age": w.age.String()})
	case "configure":
		return r.do((*restReply).topic, "PATCH", topic, object{"retention_age": w.age.String()})
	case "delete":
		return r.do(func(*restReply) string { return "" }, "DELETE", topic, nil)
	case "group":
		return r.do((*restReply).group, "GET", group, nil)
	case "groups":
		return r.do(func(v *restReply) string { return names(v.Groups) }, "GET", topic+"/groups", nil)
	case "makeGroup":
		return r.do((*restReply).group, "PUT", group, object{"ack_timeout": w.age.String(), "max_attempts": w.attempts})
	case "seek":
		return r.do((*restReply).group, "POST", group+"/seek", object{"from": w.from})
	case "deleteGroup":
		return r.do(func(*restReply) string { return "" }, "DELETE", group, nil)
	case "cluster":
		return r.do(func(v *restReply) string { return clusterText(number(v.Node), number(v.Leader), v.members()) },
			"GET",
			"/v1/cluster", nil)
	case "promote":
		return r.do(func(v *restReply) string { return clusterText(0, number(v.Leader), v.members()) }, "POST",
			fmt.Sprintf("/v1/cluster/members/%d/promote", w.id), nil)
	}
	r.c.Fatalf("no call %s", w.call)
	return "", "", nil
}

// do sends a request and shows its reply.
func (r *restCaller) do(show func(*restReply) string, method, path string, body any) (reply, hint string, err error) {
	ctx, cancel := context.WithTimeout(r.c.Context(), patience)
	defer cancel()
	w, err := r.c.send(ctx, r.who, method, "http://"+r.m.HTTP+path, body)
	if err != nil {
		return "", "", err
	}
	defer w.Body.Close()
	hint = w.Header.Get("X-Leader-Hint")
	var v restReply
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return "", hint, err
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &v); err != nil {
			return "", hint, fmt.Errorf("%s: %w", text, err)
		}
	}
	if v.Code != "" {
		return "", hint, coded(v.Code, v.Detail)
	}
	return show(&v), hint, nil
}

// restStream is a subscription by server-sent events.
type restStream struct {
	r     *restCaller
	end   context.CancelFunc
	reply *http.Response
	lines *bufio.Scanner
	id    string
	event string // the last event's id
	beats int    // comments
	err   error
}

func (r *restCaller) subscribe(s start) stream {
	query := url.Values{}
	for name, value := range map[string]string{"from": s.from, "group": s.group} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if s.inFlight != 0 {
		query.Set("in_flight", strconv.Itoa(s.inFlight))
	}
	if s.auto {
		query.Set("ack", "auto")
	}
	return r.follow("/v1/topics/"+url.PathEscape(s.topic)+"/events?"+query.Encode(), "")
}

// follow reads events; after is the id of the last one that a reader has.
func (r *restCaller) follow(path, after string) *restStream {
	ctx, cancel := context.WithTimeout(r.c.Context(), patience)
	r.c.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.m.HTTP+path, http.NoBody)
	if err != nil {
		r.c.Fatal(err)
	}
	if r.who != "" {
		request.Header.Set("Authorization", "Bearer "+r.c.tokens[r.who])
	}
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	w, err := client.Do(request)
	if err != nil {
		return &restStream{r: r, end: cancel, err: err}
	}
	r.c.Cleanup(func() { _ = w.Body.Close() })
	s := &restStream{r: r, end: cancel, reply: w, lines: bufio.NewScanner(w.Body)}
	s.lines.Buffer(nil, 8<<20)
	if w.StatusCode != http.StatusOK {
		var v restReply
		if s.err = json.NewDecoder(w.Body).Decode(&v); s.err == nil {
			s.err = coded(v.Code, fmt.Sprint("status ", w.StatusCode, " ", v.Reason, " ", v.Detail))
		}
		return s
	}
	if name, text := s.read(); s.err == nil {
		var told struct {
			Subscription string
			SubID        string `json:"sub_id"`
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || name != "open" && name != "connected" {
			s.err = fmt.Errorf("the first event is %s %s", name, text)
		}
		s.id = told.Subscription + told.SubID
	}
	return s
}

// read reads an event with data.
func (s *restStream) read() (name, data string) {
	for s.err == nil && s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case field == "event":
			name = value
		case field == "data":
			data = value
		case field == "id":
			s.event = value
		case field == ":":
			s.beats++
		case field == "" && data != "":
			return name, data
		}
	}
	if s.err == nil {
		if s.err = s.lines.Err(); s.err == nil {
			s.err = io.ErrUnexpectedEOF
		}
	}
	return "", ""
}

func (s *restStream) next() (got, error) {
	name, text := s.read()
	if s.err != nil {
		return got{}, s.err
	}
	var m struct {
		Code          string
		First, Last   uint64 // of a gap
		Offset        uint64
		Attempt       uint32
		Payload       *string
		PayloadBase64 []byte `json:"payload_base64"`
		Headers       []struct{ Name, Value string }
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return got{}, fmt.Errorf("%s: %w", text, err)
	}
	if name == "failure" {
		s.err = coded(m.Code, "")
		return got{}, s.err
	}
	if name == "gap" {
		one, err := s.next()
		one.gap = broker.Range{First: m.First, Last: m.Last}
		return one, err
	}
	one := got{offset: m.Offset, attempt: m.Attempt, payload: string(m.PayloadBase64), headers: map[string]string{}}
	if m.Payload != nil {
		one.payload = *m.Payload
	}
	for _, h := range m.Headers {
		one.headers[h.Name] = h.Value
	}
	return one, nil
}

func (s *restStream) leave() { s.end() }

func (s *restStream) ack(back bool, offsets ...uint64) error {
	_, err := s.r.settle(s.id, back, offsets...)
	return err
}

// settle acknowledges by a subscription's id, or gives back.
func (r *restCaller) settle(id string, back bool, offsets ...uint64) (hint string, err error) {
	ranges := []object{}
	for _, o := range offsets {
		ranges = append(ranges, object{"first": o, "last": o})
	}
	body, what := object{"ranges": ranges}, "ack"
	if back {
		body["reason"], what = "not today", "nack"
	}
	_, hint, err = r.do(func(*restReply) string { return "" }, "POST", "/v1/subscriptions/"+id+"/"+what, body)
	return hint, err
}
