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

// Reading is what a reader in a process of its own is told, as the first line of
// its standard input. It reads until that ends.
type Reading struct {
	Protocol     string              `json:"protocol"`
	Config       broker.Config       `json:"config"`
	Subscription broker.Subscription `json:"subscription"`
}

// Read is what such a process does: it writes each message to out, four bytes of its
// length before it, and has dealt with it once it is written. Whoever kills it
// finds in the pipe all that it may have acknowledged. An empty one comes first, when
// it is registered.
func Read(ctx context.Context, open Opener, in io.Reader, out io.Writer) (err error) {
	var what Reading
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&what); err != nil {
		return fmt.Errorf("what is to be read: %w", err)
	}
	from, err := open(ctx, what.Protocol, what.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	broken := make(chan error, 1)
	sub, err := from.Subscribe(ctx, what.Subscription, func(_ context.Context, d broker.Delivery) broker.Disposition {
		if err := writeFramed(out, d.Body); err != nil {
			broken <- err // it is given nothing more, so that this is the only one
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
	go func() { // ends with in, which is the parent's to close
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
	_, err := out.Write(append(framed, body...)) // in one write, so that no half of it is left by a kill
	return err
}

// outside is a reader in a process of its own.
type outside struct {
	command  *exec.Cmd
	input    io.WriteCloser
	reading  sync.WaitGroup
	complain *lastWords
	dead     atomic.Bool // it was killed, and that is no failure
	broke    atomic.Pointer[error]
}

// startOutside starts one with the arguments that make this program such a reader, and
// waits until it is registered. What it reads is the audience's.
func startOutside(ctx context.Context, arguments []string, what Reading, a *account.ConsumerGroup) (*outside, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &outside{command: exec.Command(program, arguments...), complain: &lastWords{}}
	o.command.Stderr = o.complain
	// It dies with this process, however that ends.
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
			fmt.Errorf("a reader in a process of its own did not begin: %w", errors.Join(err, ctx.Err())),
			o.kill(),
		)
	}
	return o, nil
}

// read takes what the process writes until its output ends. registered is closed
// with the first frame, or at the end.
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

// kill ends the process by SIGKILL, and reads what it left in the pipe.
func (o *outside) kill() error {
	o.dead.Store(true)
	err := o.command.Process.Kill()
	o.reading.Wait()
	_ = o.command.Wait() // it was killed, which this would call an error; it closes the input too
	return err
}

// close ends it well, or by force when ctx ends.
func (o *outside) close(ctx context.Context) error {
	o.dead.Store(true) // its output ends now
	forced := context.AfterFunc(ctx, func() { _ = o.command.Process.Kill() })
	defer forced()
	_ = o.input.Close() // it may be gone
	o.reading.Wait()
	if err := o.command.Wait(); err != nil {
		return fmt.Errorf("a reader's process: %w%s", err, o.complain.text())
	}
	return nil
}

// lastWords keeps the end of what a process complains of.
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
