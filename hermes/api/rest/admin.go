package rest

import (
	"net/http"
	"strconv"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// withoutBody refuses a request that has a body, which would not be read.
func (c *call) withoutBody() error {
	if c.request.ContentLength > 0 {
		return status.Errorf(status.InvalidArgument, "%s has no body here", c.request.Method)
	}
	if c.request.ContentLength < 0 {
		text, err := c.body(adminLimit)
		if err == nil && len(text) > 0 {
			err = status.Errorf(status.InvalidArgument, "%s has no body here", c.request.Method)
		}
		return err
	}
	return nil
}

// topicJSON is a topic.
type topicJSON struct {
	Name           string `json:"name"`
	ID             uint32 `json:"id"`
	First          uint64 `json:"first"`
	Next           uint64 `json:"next"`
	Bytes          uint64 `json:"bytes"`
	Created        string `json:"created"`
	RetentionAge   string `json:"retention_age,omitempty"`
	RetentionBytes uint64 `json:"retention_bytes,omitempty"`
	Subscribers    int    `json:"subscribers"`
}

func showTopic(t broker.Topic) topicJSON {
	return topicJSON{
		Name: t.Name, ID: t.ID, First: t.First, Next: t.Next, Bytes: t.Bytes, Created: timeText(t.Created),
		RetentionAge: durationText(t.RetentionAge), RetentionBytes: t.RetentionBytes, Subscribers: t.Subscribers,
	}
}

func durationText(d int64) string {
	if d == 0 {
		return ""
	}
	return time.Duration(d).String()
}

// topic replies with one, if there is no error.
func (c *call) topic(t broker.Topic, err error) error {
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, showTopic(t))
}

// readTopic reads what a topic is to be like from the body.
func (c *call) readTopic(optional bool) (broker.Topic, error) {
	t := broker.Topic{Name: c.variables[0]}
	if err := c.query.done(); err != nil {
		return t, err
	}
	if err := hermes.CheckTopic(t.Name); err != nil {
		return t, err
	}
	var body struct {
		RetentionAge   string `json:"retention_age"`
		RetentionBytes uint64 `json:"retention_bytes"`
	}
	err := c.decode(&body, adminLimit, optional)
	if err == nil {
		t.RetentionAge, err = spelling.Duration("retention_age", body.RetentionAge)
	}
	t.RetentionBytes = body.RetentionBytes
	return t, err
}

func (c *call) createTopic() error {
	t, err := c.readTopic(true)
	if err != nil {
		return err
	}
	return c.topic(c.broker.CreateTopic(c.ctx, t))
}

func (c *call) configureTopic() error {
	t, err := c.readTopic(false)
	if err != nil {
		return err
	}
	return c.topic(c.broker.ConfigureTopic(c.ctx, t))
}

func (c *call) getTopic() error {
	linearizable := c.query.flag("linearizable")
	if err := c.plain(); err != nil {
		return err
	}
	return c.topic(c.broker.Topic(c.ctx, c.variables[0], linearizable))
}

// plain checks a call without a body: its query, and the names in its path.
func (c *call) plain() error {
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.withoutBody(); err != nil {
		return err
	}
	return c.names()
}

// names checks the names of topic and group in the path.
func (c *call) names() error {
	if err := hermes.CheckTopic(c.variables[0]); err != nil {
		return err
	}
	if len(c.variables) > 1 {
		return hermes.CheckGroup(c.variables[1])
	}
	return nil
}

func (c *call) deleteTopic() error {
	if err := c.plain(); err != nil {
		return err
	}
	if err := c.broker.DeleteTopic(c.ctx, c.variables[0]); err != nil {
		return err
	}
	return c.nothing()
}

// The length of a list, if its caller does not say, and at most.
const (
	listUsual = 100
	listLimit = 1000
)

func (c *call) listTopics() error {
	prefix, after := c.query.text("prefix"), c.query.text("after")
	limit := int(c.query.number("limit", listLimit)) // at most listLimit
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.withoutBody(); err != nil {
		return err
	}
	if limit == 0 {
		limit = listUsual
	}
	// One more than is shown tells whether there is a next page.
	all, err := c.broker.ListTopics(c.ctx, prefix, after, limit+1)
	if err != nil {
		return err
	}
	list := struct {
		Topics []topicJSON `json:"topics"`
		Next   string      `json:"next,omitempty"` // give it as after; absent: that was all
	}{Topics: []topicJSON{}}
	for _, t := range all[:min(limit, len(all))] {
		list.Topics = append(list.Topics, showTopic(t))
	}
	if len(all) > limit {
		list.Next = all[limit-1].Name
	}
	return c.json(http.StatusOK, list)
}

// groupJSON is a group.
type groupJSON struct {
	Topic       string      `json:"topic"`
	Name        string      `json:"name"`
	AckTimeout  string      `json:"ack_timeout"`
	MaxAttempts uint32      `json:"max_attempts"`
	Floor       uint64      `json:"floor"`
	Acked       []rangeJSON `json:"acked"`
	Lag         uint64      `json:"lag"`
	Dead        uint64      `json:"dead"`
	Trimmed     uint64      `json:"trimmed"`
	Members     int         `json:"members"`
	InFlight    int         `json:"in_flight"`
	Redelivered uint64      `json:"redelivered"`
}

// rangeJSON is offsets, both inclusive.
type rangeJSON struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

func showGroup(g broker.Group) groupJSON {
	shown := groupJSON{
		Topic: g.Topic, Name: g.Name, AckTimeout: time.Duration(g.AckTimeout).String(), MaxAttempts: g.MaxAttempts,
		Floor: g.Floor, Acked: []rangeJSON{}, Lag: g.Lag, Dead: g.Dead, Trimmed: g.Trimmed, Members: g.Members,
		InFlight: g.InFlight, Redelivered: g.Redelivered,
	}
	for _, r := range g.Acked {
		shown.Acked = append(shown.Acked, rangeJSON{r.First, r.Last})
	}
	return shown
}

// group replies with one, if there is no error.
func (c *call) group(g broker.Group, err error) error {
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, showGroup(g))
}

func (c *call) createGroup() error {
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.names(); err != nil {
		return err
	}
	var body struct {
		AckTimeout  string `json:"ack_timeout"`
		MaxAttempts uint32 `json:"max_attempts"`
		From        string `json:"from"`
	}
	if err := c.decode(&body, adminLimit, true); err != nil {
		return err
	}
	g := broker.Group{Topic: c.variables[0], Name: c.variables[1], MaxAttempts: body.MaxAttempts}
	var err error
	if g.AckTimeout, err = spelling.Duration("ack_timeout", body.AckTimeout); err != nil {
		return err
	}
	start := broker.Start{Topic: g.Topic, Group: g.Name, From: broker.FromOldest}
	if body.From != "" {
		if err := spelling.From(body.From, &start); err != nil {
			return err
		}
	}
	return c.group(c.broker.CreateGroup(c.ctx, g, start))
}

func (c *call) seekGroup() error {
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.names(); err != nil {
		return err
	}
	var body struct {
		From string `json:"from"`
	}
	if err := c.decode(&body, adminLimit, false); err != nil {
		return err
	}
	to := broker.Start{Topic: c.variables[0], Group: c.variables[1]}
	if err := spelling.From(body.From, &to); err != nil {
		return err
	}
	return c.group(c.broker.SeekGroup(c.ctx, to.Topic, to.Group, to))
}

func (c *call) getGroup() error {
	if err := c.plain(); err != nil {
		return err
	}
	return c.group(c.broker.Group(c.ctx, c.variables[0], c.variables[1]))
}

func (c *call) deleteGroup() error {
	if err := c.plain(); err != nil {
		return err
	}
	if err := c.broker.DeleteGroup(c.ctx, c.variables[0], c.variables[1]); err != nil {
		return err
	}
	return c.nothing()
}

func (c *call) listGroups() error {
	if err := c.plain(); err != nil {
		return err
	}
	all, err := c.broker.ListGroups(c.ctx, c.variables[0])
	if err != nil {
		return err
	}
	list := struct {
		Groups []groupJSON `json:"groups"`
	}{[]groupJSON{}}
	for _, g := range all {
		list.Groups = append(list.Groups, showGroup(g))
	}
	return c.json(http.StatusOK, list)
}

// memberJSON is a node of the cluster.
type memberJSON struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Peer    string `json:"peer"`
	GRPC    string `json:"grpc"`
	HTTP    string `json:"http"`
	Learner bool   `json:"learner"`
	Leader  bool   `json:"leader"`
	Match   uint64 `json:"match"`   // told by the leader alone
	Reached bool   `json:"reached"` // likewise
}

// clusterJSON is the cluster as a node sees it.
type clusterJSON struct {
	Node      string       `json:"node"`
	Leader    string       `json:"leader,omitempty"` // absent: no node leads
	Term      uint64       `json:"term"`
	Committed uint64       `json:"committed"`
	Applied   uint64       `json:"applied"`
	Unready   string       `json:"unready,omitempty"` // why callers should go to another node
	Members   []memberJSON `json:"members"`
}

// cluster replies with it, if there is no error.
func (c *call) cluster(s broker.Status, err error) error {
	if err != nil {
		return err
	}
	shown := clusterJSON{
		Node: strconv.FormatUint(s.Node, 10), Term: s.Term, Committed: s.Committed, Applied: s.Applied,
		Unready: s.Unready,
		Members: []memberJSON{},
	}
	if s.Leader != 0 {
		shown.Leader = strconv.FormatUint(s.Leader, 10)
	}
	for _, m := range s.Members {
		shown.Members = append(shown.Members, memberJSON{
			ID: strconv.FormatUint(m.ID, 10), Name: m.Name, Peer: m.Peer, GRPC: m.GRPC, HTTP: m.HTTP,
			Learner: m.Learner, Leader: m.Leader, Match: m.Match, Reached: m.Reached,
		})
	}
	return c.json(http.StatusOK, shown)
}

func (c *call) getCluster() error {
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.withoutBody(); err != nil {
		return err
	}
	return c.cluster(c.broker.Status(c.ctx))
}

func (c *call) join() error {
	if err := c.query.done(); err != nil {
		return err
	}
	var body struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Peer string `json:"peer"`
		GRPC string `json:"grpc"`
		HTTP string `json:"http"`
	}
	if err := c.decode(&body, adminLimit, false); err != nil {
		return err
	}
	id, err := spelling.ID("id", body.ID)
	if err != nil {
		return err
	}
	if body.Peer == "" {
		return status.Errorf(status.InvalidArgument,
			"peer is missing: give the address at which other nodes reach the new one")
	}
	return c.cluster(c.broker.Join(c.ctx, broker.Member{
		ID: id, Name: body.Name, Peer: body.Peer, GRPC: body.GRPC,
		HTTP: body.HTTP,
	}))
}

// member reads the id in the path of a call without a body.
func (c *call) member() (uint64, error) {
	if err := c.query.done(); err != nil {
		return 0, err
	}
	if err := c.withoutBody(); err != nil {
		return 0, err
	}
	return spelling.ID("the member's id", c.variables[0])
}

func (c *call) promote() error {
	id, err := c.member()
	if err != nil {
		return err
	}
	return c.cluster(c.broker.Promote(c.ctx, id))
}

func (c *call) remove() error {
	id, err := c.member()
	if err != nil {
		return err
	}
	return c.cluster(c.broker.Remove(c.ctx, id))
}

func (c *call) transfer() error {
	if err := c.query.done(); err != nil {
		return err
	}
	var body struct {
		To string `json:"to"`
	}
	if err := c.decode(&body, adminLimit, false); err != nil {
		return err
	}
	to, err := spelling.ID("to", body.To)
	if err != nil {
		return err
	}
	return c.cluster(c.broker.TransferLeadership(c.ctx, to))
}
