// A reader process reads for a consumer group outside the driver, so that a scenario can kill it.
package drive

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"

	"wirelab/broker"
	"wirelab/lab/load"
	"wirelab/lab/messaging/account"
)

// Reading tells a reader process what to read. It is the first line of its standard input. The process reads until
// that input ends.
type Reading struct {
	Protocol     string              `json:"protocol"`
	Config       broker.Config       `json:"config"`
	Subscription broker.Subscription `json:"subscription"`
}

// Read is the main function of a reader process. It writes each message to out, with its length in four bytes before
// it. A message counts as handled once it is written. So after a kill, the pipe holds every message that the process
// may have acknowledged. An empty frame comes first, once the reader is registered.
func Read(ctx context.Context, open Opener, in io.Reader, out io.Writer) (err error) {
	var what Reading
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&what); err != nil {
		return fmt.Errorf("the first line of input, which says what to read: %w", err)
	}
	from, err := open(ctx, what.Protocol, what.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	broken := make(chan error, 1)
	sub, err := from.Subscribe(ctx, what.Subscription, func(_ context.Context, d broker.Delivery) broker.Disposition {
		if err := writeFramed(out, d.Body); err != nil {
			broken <- err // after Stop no more deliveries come, so this is the only error
			return broker.Stop()
		}
		return broker.Ack()
	})
	if err != nil {
		return err
	}
	if err := writeFramed(out, nil); err != nil {
		return errors.Join(err, sub.Close(ctx))
	}
	over := make(chan error, 1)
	go func() { // ends when the parent closes in
		_, err := io.Copy(io.Discard, in)
		over <- err
	}()
	select {
	case err = <-over:
	case err = <-broken:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), teardownLimit)
	defer cancel()
	return errors.Join(err, sub.Close(ctx))
}

func writeFramed(out io.Writer, body []byte) error {
	framed := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err := out.Write(append(framed, body...)) // one write, so that a kill cannot leave half a frame
	return err
}

// outside is a reader in a separate process.
type outside struct {
	command  *exec.Cmd
	input    io.WriteCloser
	reading  sync.WaitGroup
	complain *lastWords
	dead     atomic.Bool // the process was killed on purpose, so its end is no failure
	broke    atomic.Pointer[error]
}

// startOutside starts this program as a reader process, with arguments, and waits until the reader is registered. The
// messages that it reads are counted for the group a.
func startOutside(ctx context.Context, arguments []string, what Reading, a *account.ConsumerGroup) (*outside, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &outside{command: exec.Command(program, arguments...), complain: &lastWords{}}
	o.command.Stderr = o.complain
	// The kernel kills the reader when this process dies, for whatever reason.
	o.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if o.input, err = o.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := o.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := o.command.Start(); err != nil {
		return nil, fmt.Errorf("start a reader: %w", err)
	}
	registered := make(chan struct{})
	o.reading.Go(func() { o.read(bufio.NewReaderSize(output, 1<<16), a, registered) })
	if err := json.NewEncoder(o.input).Encode(what); err != nil {
		return nil, errors.Join(err, o.kill())
	}
	select {
	case <-registered:
	case <-ctx.Done():
	}
	if err := o.failed(); err != nil || ctx.Err() != nil {
		return nil, errors.Join(
			fmt.Errorf("a separate reader process did not start: %w", errors.Join(err, ctx.Err())),
			o.kill(),
		)
	}
	return o, nil
}

// read reads frames until the process's output ends. registered is closed at the first empty frame, or at the end.
func (o *outside) read(from io.Reader, a *account.ConsumerGroup, registered chan struct{}) {
	var clock load.SystemClock
	var once sync.Once
	began := func() { once.Do(func() { close(registered) }) }
	defer began()
	body := make([]byte, 0, 4096)
	for {
		var length [4]byte
		if _, err := io.ReadFull(from, length[:]); err != nil {
			o.ended(err)
			return
		}
		n := binary.LittleEndian.Uint32(length[:])
		if n > broker.BodyLimit {
			o.ended(fmt.Errorf("a frame of %d bytes", n))
			return
		}
		if n == 0 {
			began()
			continue
		}
		if int(n) > cap(body) {
			body = make([]byte, n)
		}
		if _, err := io.ReadFull(from, body[:n]); err != nil {
			o.ended(err)
			return
		}
		a.Arrived(body[:n], clock.Now())
	}
}

func (o *outside) ended(err error) {
	if o.dead.Load() {
		return
	}
	why := fmt.Errorf("a reader's process ended: %w%s", err, o.complain.text())
	o.broke.CompareAndSwap(nil, &why)
}

func (o *outside) failed() error {
	if err := o.broke.Load(); err != nil {
		return *err
	}
	return nil
}

// kill sends the process SIGKILL, and reads the rest of the pipe.
func (o *outside) kill() error {
	o.dead.Store(true)
	err := o.command.Process.Kill()
	o.reading.Wait()
	_ = o.command.Wait() // Wait reports the kill as an error; it also closes the input
	return err
}

// close ends the process by closing its input, or kills it when ctx ends.
func (o *outside) close(ctx context.Context) error {
	o.dead.Store(true) // from now on the end of its output is no failure
	forced := context.AfterFunc(ctx, func() { _ = o.command.Process.Kill() })
	defer forced()
	_ = o.input.Close() // the process may have ended already
	o.reading.Wait()
	if err := o.command.Wait(); err != nil {
		return fmt.Errorf("a reader's process: %w%s", err, o.complain.text())
	}
	return nil
}

// lastWords keeps the last bytes that a process wrote to its standard error.
type lastWords struct {
	mu   sync.Mutex // guards said
	said []byte
}

const lastWordsLimit = 2048

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, p...)
	if over := len(w.said) - lastWordsLimit; over > 0 {
		w.said = append(w.said[:0], w.said[over:]...)
	}
	return len(p), nil
}

func (w *lastWords) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.said) == 0 {
		return ""
	}
	return "; its last words: " + string(w.said)
}
