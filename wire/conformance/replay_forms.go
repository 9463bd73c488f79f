package conformance

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net/rpc"
	"reflect"
	"strconv"
)

// fields compares a JSON object with one whose fields it must have.
func fields(got []byte, want string) error {
	var has, wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		return err
	}
	if err := json.Unmarshal(got, &has); err != nil {
		return fmt.Errorf("%q: %w", got, err)
	}
	for name, value := range wanted {
		if !reflect.DeepEqual(has[name], value) {
			return fmt.Errorf("%s is %v of %q", name, has[name], got)
		}
	}
	return nil
}

// gobs are the replies of net/rpc. Their bytes are not compared: the numbers of types in them are the process's own.
type gobs struct{ from *gob.Decoder }

var errNotHTTP = errors.New("the recording is of net/rpc: it has the step GOB")

func (*gobs) sending([]byte)                     {}
func (*gobs) header() (map[string]string, error) { return nil, errNotHTTP }
func (*gobs) body(int) ([]byte, error)           { return nil, errNotHTTP }
func (*gobs) rest() ([]byte, error)              { return nil, errNotHTTP }
func (*gobs) end() error                         { return errNotHTTP }

func (g *gobs) reply(quoted string) error {
	want, err := strconv.Unquote(quoted)
	if err != nil {
		return err
	}
	var head rpc.Response
	if err := g.from.Decode(&head); err != nil {
		return err
	}
	var text string
	if head.Error == "" {
		err = g.from.Decode(&text)
	}
	if err != nil || text != want {
		return fmt.Errorf("got %q, %+v, %v", text, head, err)
	}
	return nil
}
