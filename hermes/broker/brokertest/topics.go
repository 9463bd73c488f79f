package brokertest

import (
	"strings"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

var topicTests = map[string]func(*suite){
	"CreateTopic":    testCreateTopic,
	"TopicNames":     testTopicNames,
	"ConfigureTopic": testConfigureTopic,
	"DeleteTopic":    testDeleteTopic,
	"ListTopics":     testListTopics,
	"Linearizable":   testLinearizable,
	"Cluster":        testCluster,
}

func testCreateTopic(s *suite) {
	first, err := s.in.CreateTopic(s.ctx,
		broker.Topic{Name: s.topic + ".a", RetentionAge: 5e18, RetentionBytes: 1 << 40})
	if err != nil {
		s.Fatal(err)
	}
	if first.ID == 0 || first.Created == 0 || first.First != 0 || first.Next != 0 || first.RetentionAge != 5e18 ||
		first.RetentionBytes != 1<<40 {
		s.Errorf("a new topic is %+v", first)
	}
	again, err := s.out.CreateTopic(s.ctx,
		broker.Topic{Name: s.topic + ".a", RetentionAge: 5e18, RetentionBytes: 1 << 40})
	if err != nil {
		s.Fatal("the same again:", err)
	}
	s.same("the same again", again.ID, first.ID)
	_, err = s.in.CreateTopic(s.ctx, broker.Topic{Name: s.topic + ".a"})
	s.refused("with another retention", err, status.Conflict)
	_, err = s.in.CreateTopic(s.ctx, broker.Topic{Name: s.topic + ".b", RetentionAge: -1})
	s.refused("with a negative age", err, status.InvalidArgument)
	begun, err := s.in.CreateTopic(s.ctx, broker.Topic{Name: s.topic + ".c", First: 70})
	if err != nil || begun.First != 70 || begun.Next != 70 {
		s.Errorf("a topic that begins at 70 is %+v: %v", begun, err)
	}
	v := Publish(s.ctx, s.in, broker.Run{Topic: s.topic + ".c", Messages: Messages("x"), Count: 1})
	if v.Err != nil || v.Offset != 70 {
		s.Errorf("the first message of a topic that begins at 70: %+v", v)
	}
	_, err = s.in.CreateTopic(s.ctx, broker.Topic{Name: s.topic + ".c", First: 70})
	s.refused("begun where it is no longer empty", err, status.Conflict)
}

// hb-D27: unchecked names read across topics.
func testTopicNames(s *suite) {
	for _, name := range []string{"", "a\x00b", "a:b", "a/b", ".a", "ü", strings.Repeat("x", hermes.NameLimit+1)} {
		_, err := s.in.CreateTopic(s.ctx, broker.Topic{Name: name})
		s.refused("create "+name, err, status.InvalidArgument)
		_, err = s.out.Subscribe(s.ctx, broker.Start{Topic: name, Create: true})
		s.refused("subscribe to "+name, err, status.InvalidArgument)
		v := Publish(s.ctx, s.in, broker.Run{Topic: name, Messages: Messages("x"), Count: 1})
		s.refused("publish to "+name, v.Err, status.InvalidArgument)
	}
	long := s.topic + strings.Repeat("x", hermes.NameLimit-len(s.topic))
	if _, err := s.in.CreateTopic(s.ctx, broker.Topic{Name: long}); err != nil {
		s.Error(err)
	}
}

func testConfigureTopic(s *suite) {
	t, err := s.in.ConfigureTopic(s.ctx, broker.Topic{Name: s.topic, RetentionBytes: 1 << 40})
	if err != nil {
		s.Fatal(err)
	}
	s.same("retention", t.RetentionBytes, 1<<40)
	s.synced()
	t, err = s.out.Topic(s.ctx, s.topic, false)
	if err != nil {
		s.Fatal(err)
	}
	s.same("retention elsewhere", t.RetentionBytes, 1<<40)
	_, err = s.in.ConfigureTopic(s.ctx, broker.Topic{Name: s.topic + ".none"})
	s.refused("one that is not there", err, status.NotFound)
}

func testDeleteTopic(s *suite) {
	s.publish("old")
	s.synced()
	f := s.subscribe(broker.Start{From: broker.FromTail})
	g := s.subscribe(broker.Start{From: broker.FromGroup, Group: "g"})
	s.take(g, 1)
	before, err := s.out.Topic(s.ctx, s.topic, true)
	if err != nil {
		s.Fatal(err)
	}
	if err := s.in.DeleteTopic(s.ctx, s.topic); err != nil {
		s.Fatal(err)
	}
	_, err = f.Next(s.ctx, broker.Room{Bytes: 1})
	s.refused("a subscription to it", err, status.NotFound)
	_, err = g.Next(s.ctx, broker.Room{Bytes: 1})
	s.refused("a member's subscription to it", err, status.NotFound)
	s.refused("deleting it again", s.in.DeleteTopic(s.ctx, s.topic), status.NotFound)
	v := Publish(s.ctx, s.in, broker.Run{Topic: s.topic, Messages: Messages("x"), Count: 1})
	s.refused("publishing to it", v.Err, status.NotFound)
	_, err = s.out.Topic(s.ctx, s.topic, true)
	s.refused("reading it", err, status.NotFound)

	// One of the same name is another topic: nothing of the old one shows.
	if _, err := s.in.CreateTopic(s.ctx, broker.Topic{Name: s.topic}); err != nil {
		s.Fatal(err)
	}
	s.same("offset in the new one", s.publish("new").Offset, 0)
	s.synced()
	s.same("the new one's messages", s.take(s.subscribe(broker.Start{From: broker.FromOldest}), 1),
		[]got{{0, "new", 1}})
	after, err := s.out.Topic(s.ctx, s.topic, true)
	if err != nil {
		s.Fatal(err)
	}
	if after.ID == before.ID {
		s.Error("an id was used twice")
	}
	groups, err := s.out.ListGroups(s.ctx, s.topic)
	s.same("the new one's groups", []any{len(groups), err}, []any{0, nil})
	s.refused("deleting the dead letters", s.in.DeleteTopic(s.ctx, hermes.DeadLetters), status.InvalidArgument)
}

func testListTopics(s *suite) {
	for _, end := range []string{".c", ".a", ".b"} {
		if _, err := s.in.CreateTopic(s.ctx, broker.Topic{Name: s.topic + end}); err != nil {
			s.Fatal(err)
		}
	}
	s.synced()
	list := func(prefix, after string, limit int) (names []string) {
		all, err := s.out.ListTopics(s.ctx, prefix, after, limit)
		if err != nil {
			s.Error(err)
		}
		for _, t := range all {
			names = append(names, strings.TrimPrefix(t.Name, s.topic))
		}
		return names
	}
	s.same("all", list(s.topic+".", "", 10), []string{".a", ".b", ".c"})
	s.same("two", list(s.topic+".", "", 2), []string{".a", ".b"})
	s.same("those after", list(s.topic+".", s.topic+".a", 10), []string{".b", ".c"})
	s.same("after one that is not there", list(s.topic+".", s.topic+".aa", 1), []string{".b"})
	s.same("none", list(s.topic+".x", "", 10), []string{})
}

func testLinearizable(s *suite) {
	for i := range 20 {
		v := s.publish("x")
		t, err := s.out.Topic(s.ctx, s.topic, true)
		if err != nil {
			s.Fatal(err)
		}
		if t.Next <= v.Offset {
			s.Fatalf("round %d: message %d was acknowledged, and a linearizable read sees %d", i, v.Offset, t.Next)
		}
		if t.Bytes == 0 || t.First != 0 {
			s.Fatalf("topic %+v", t)
		}
	}
	_, err := s.out.Topic(s.ctx, s.topic+".none", true)
	s.refused("one that is not there", err, status.NotFound)
}

func testCluster(s *suite) {
	leader, ok := s.in.Leader()
	if !ok || !leader.Leader || leader.ID == 0 || leader.Peer == "" {
		s.Errorf("leader %+v, %v", leader, ok)
	}
	st, err := s.out.Status(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	if st.Node == 0 || st.Leader != leader.ID || st.Term == 0 || st.Applied > st.Committed || st.Unready != "" ||
		len(st.Members) == 0 {
		s.Errorf("status %+v", st)
	}
	_, err = s.in.Remove(s.ctx, 1<<40)
	s.refused("removing no one", err, status.NotFound)
	_, err = s.in.Promote(s.ctx, 1<<40)
	s.refused("promoting no one", err, status.NotFound)
	_, err = s.in.TransferLeadership(s.ctx, 1<<40)
	s.refused("leadership to no one", err, status.NotFound)
	_, err = s.in.Join(s.ctx, broker.Member{})
	s.refused("joining without an id", err, status.InvalidArgument)
}
