package raw

// null1 is the server's end of a connection of HTTP/1.1.
type null1 struct {
	out       []byte
	responder *responder
	heads     heads

	head  *head1 // of the request under way; nil: none
	body  body1
	parts []byte // of its body, where that came in several
	quits bool   // the connection ends when all is sent
	full  bool   // of replies: no more requests until they are sent
}

var _ server = (*null1)(nil)

func (s *null1) output() *[]byte { return &s.out }

func (s *null1) quitting() bool { return s.quits }

// stop ends the connection: a request that is not whole has no reply.
func (s *null1) stop() {}

func (s *null1) paused() bool { return s.full }

func (s *null1) receive(data []byte) (int, error) {
	n := 0
	for s.full = false; n < len(data) && !s.quits; {
		if s.full = len(s.out) > outMax; s.full {
			return n, nil
		}
		taken, err := s.step(data[n:])
		n += taken
		if err != nil {
			return n, err
		}
		if taken == 0 {
			break
		}
	}
	if s.quits {
		return len(data), nil
	}
	return n, nil
}

func (s *null1) step(data []byte) (int, error) {
	if s.head == nil {
		head, n, err := s.heads.read(data, requestLine)
		if err != nil || n == 0 {
			return n, err
		}
		if _, err := s.responder.readHead(&head.block); err != nil {
			return 0, err
		}
		s.head = head
		s.body.begin(head, bodyOver)
		if head.expects && s.body.stage != bodyOver {
			s.out = append(s.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
		}
		// The usual case: the body is there too, in one piece.
		if size := int(min(head.length, int64(len(data)))); s.body.stage == bodyLength &&
			head.length <= int64(len(data)-n) {
			s.reply(data[n : n+size])
			return n + size, nil
		}
		if s.body.stage == bodyOver {
			s.reply(nil)
		}
		return n, nil
	}
	part, n, err := s.body.next(data)
	if err != nil {
		return n, err
	}
	if len(s.parts)+len(part) > bodyMax {
		return n, breach(0, "request of more than %d bytes", bodyMax)
	}
	s.parts = append(s.parts, part...)
	if s.body.stage == bodyOver {
		s.reply(s.parts)
		s.parts = emptied(s.parts)
	}
	return n, nil
}

func (s *null1) reply(body []byte) {
	r := s.responder.answer(s.head.ask.route, body)
	s.quits = s.head.closes || r.cut
	s.head, s.body = nil, body1{}
	if !r.cut {
		s.out = append(s.out, r.text...)
	}
}
