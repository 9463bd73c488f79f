package rabbitmq

import (
	"fmt"

	"wirelab"
)

// Done returns a channel that is closed when the server as it runs now has ended, by any process; nil where it
// does not run. [Server.Err] then tells how.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	return s.process.Done()
}

// Err tells how the server ended where this process did not end it, with its last words; nil while it runs, and
// after Stop and Kill.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.Done():
	default:
		return nil
	}
	err := s.process.Err()
	if err == nil {
		return wirelab.Errorf(wirelab.Unavailable, "RabbitMQ stopped by itself%s", s.at.words())
	}
	return fmt.Errorf("RabbitMQ: %w%s", err, s.at.words())
}
