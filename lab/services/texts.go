package services

import (
	"fmt"

	"wirelab/lab/plan"
)

// RequestTexts returns the requests that would be sent, with secrets hidden, and notes about them.
func RequestTexts(s *Services, p plan.Plan) (texts, notes []string) {
	for _, o := range s.Made.Service.Operations {
		for _, w := range s.Made.Service.Wires {
			for _, text := range o.Calls[w.Name].Texts(w) {
				texts = append(texts, s.Hidden(text)+"\n")
			}
			if !o.Repeatable {
				notes = append(notes,
					fmt.Sprintf("%s %s is not idempotent: each call may change something", p.Workload, o.Name))
			}
		}
	}
	return texts, notes
}
