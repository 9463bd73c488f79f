package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/backup"
	"wirelab/hermes/broker"
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/wire/status"
)

const backupText = `Backup writes topics with their settings, groups with their positions, and all
messages with their offsets and times into one file. It shows the cluster at one
moment: everything that was acknowledged before the backup began, and nothing
later. Publishing and reading continue.

The backup is written to FILE.part, and renamed to FILE when it is whole and on
disk. An existing FILE is replaced then; if anything fails, it stays as it was. One
node makes the backup. If that node stops, run the command again with another node
(--server can be given several times).

A backup does not contain producers (a client opens a new one by itself) and
messages of mode performance (they are not stored). A message that a retention
removes during the backup may be missing.

With a policy, the caller needs the rights admin and subscribe on the topics, or on
"*" for all topics.`

const backupExample = `  hermes backup --to hermes.backup
  hermes backup --to orders.backup --only orders,invoices --server 10.0.0.2:50051
  hermes backup --verify hermes.backup`

func newBackupCommand(a *app) *cobra.Command {
	var f clientFlags
	var to, verify string
	var only []string
	c := &cobra.Command{
		Use: "backup --to FILE", Short: "Write a backup of a running cluster, or verify one",
		Long: backupText, Example: backupExample, Args: cli.Arguments(0, 0, "no arguments: name the file with --to "+
			"or --verify"),
	}
	f.register(c)
	c.Flags().StringVar(&to, "to", "", "`file` to write")
	c.Flags().StringVar(&verify, "verify", "", "read the `file` of a backup and check all of it, without a cluster")
	c.Flags().StringSliceVar(&only, "only", nil, "`topics` to back up, separated by commas (default all)")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case (to == "") == (verify == ""):
			return cli.Usage("say where to write, with --to FILE, or what to verify, with --verify FILE")
		case verify != "":
			return a.verifyBackup(c.Context(), verify, *asJSON)
		}
		return a.backup(c.Context(), f, to, only, *asJSON)
	}
	return c
}

// backupShown is a backup in JSON.
type backupShown struct {
	File     string      `json:"file"`
	Index    uint64      `json:"index"` // of the log
	Time     time.Time   `json:"time"`  // when it was made
	Topics   uint64      `json:"topics"`
	Groups   uint64      `json:"groups"`
	Messages uint64      `json:"messages"`
	Bytes    uint64      `json:"bytes"` // of messages
	Size     int64       `json:"size"`  // of the file
	All      []heldShown `json:"all,omitempty"`
}

// heldShown is a topic in a backup.
type heldShown struct {
	Topic    string `json:"topic"`
	First    uint64 `json:"first"`
	Next     uint64 `json:"next"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Groups   int    `json:"groups"`
	State    string `json:"state,omitempty"` // of a restore
}

func shownOfBackup(file string, t backup.Totals, size int64) backupShown {
	return backupShown{
		File: file, Index: t.Cut.Index, Time: time.Unix(0, t.Cut.Time).UTC(),
		Topics: t.Topics, Groups: t.Groups, Messages: t.Messages, Bytes: t.Bytes, Size: size,
	}
}

func (s backupShown) String() string {
	return fmt.Sprintf("%d messages of %d topics and %d groups, %s of messages, as of %s (entry %d of the log)",
		s.Messages, s.Topics, s.Groups, bytesOf(int64(s.Bytes)), s.Time.Format(time.RFC3339), s.Index)
}

// backup makes one.
func (a *app) backup(ctx context.Context, f clientFlags, to string, only []string, asJSON bool) error {
	c, err := a.dial(ctx, f)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is under way
	var totals backup.Totals
	saving := a.Doing("writing the backup")
	defer saving.Done()
	size, err := replaceFile(to, func(w io.Writer) error {
		totals, err = backup.Save(ctx, c, only, w, func(t backup.Totals) {
			saving.Far(fmt.Sprintf("%d messages of %d topics, %s", t.Messages, t.Topics, bytesOf(int64(t.Bytes))))
		})
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil && totals.Cut == (backup.Cut{}) &&
		status.Public(err).Code == status.Unavailable:
		return fmt.Errorf("no backup was made, and %s is as it was: %w; it is not known what was acknowledged, for "+
			"which a "+
			"leader is needed. %s", to, err, needsMost)
	case err != nil:
		return notMade(ctx, to, err)
	}
	shown := shownOfBackup(to, totals, size)
	if asJSON {
		return a.PrintJSON(shown)
	}
	return a.Printf("%s: %v\n", to, shown)
}

// replaceFile writes a file whole or not at all: next to its name first, and under it once it is on disk. What
// was there stays until then.
func replaceFile(name string, write func(io.Writer) error) (size int64, err error) {
	part := name + ".part"
	// Exclusive: two that write the same part would make a file of neither.
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, status.Errorf(status.Conflict,
			"%s is there: another backup writes it, or one was killed; if none runs, "+
				"remove it", part)
	}
	if err != nil {
		return 0, fault.Write(name, err)
	}
	err = write(file)
	if err == nil {
		size, err = file.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(part))
	}
	// Without it a power cut may bring the old file back, or none.
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return size, err
	}
	return size, errors.Join(dir.Sync(), dir.Close())
}

// readBackup opens a backup and reads it whole.
func (a *app) readBackup(ctx context.Context, name string) (*input.Opened, backup.Contents, int64, error) {
	file, err := input.Open(ctx, name)
	if err != nil {
		return nil, backup.Contents{}, 0, fault.Read("", name, err)
	}
	reading, done := a.Doing("reading "+name), int64(0)
	defer reading.Done()
	contents, err := backup.Verify(ctx, readerFunc(func(p []byte) (int, error) {
		n, err := file.Read(p)
		done += int64(n)
		reading.Far(bytesOf(done) + " of " + bytesOf(max(done, file.Size()))) // of a pipe that is not known
		return n, err
	}))
	switch {
	case err == nil:
		return file, contents, done, nil
	case ctx.Err() != nil:
		err = cli.With(exitInterrupted,
			status.Errorf(status.Canceled, "interrupted while %s was read; nothing was changed",
				name))
	default:
		// A file that is wrong is no mistake on the command line.
		err = cli.With(exitFailed, fmt.Errorf("%s: %s", name, cli.Describe(err)))
	}
	return nil, contents, 0, errors.Join(err, file.Close())
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (a *app) verifyBackup(ctx context.Context, name string, asJSON bool) error {
	file, contents, size, err := a.readBackup(ctx, name)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	shown := shownOfBackup(name, contents.Totals, size)
	for _, h := range contents.All {
		shown.All = append(shown.All, heldShown{h.Name, h.First, h.Next, h.Messages, h.Size, h.Groups, ""})
	}
	if asJSON {
		return a.PrintJSON(shown)
	}
	if err := a.Printf("%s is whole: %v\n", name, shown); err != nil {
		return err
	}
	return a.showHeld(shown.All)
}

// showHeld is topics of a backup as a table.
func (a *app) showHeld(all []heldShown) error {
	rows := [][]string{{"TOPIC", "OFFSETS", "MESSAGES", "BYTES", "GROUPS", "STATE"}}
	if len(all) > 0 && all[0].State == "" {
		rows[0] = rows[0][:5]
	}
	for _, h := range all {
		row := []string{
			h.Topic, fmt.Sprintf("%d to %d", h.First, h.Next), strconv.FormatUint(h.Messages, 10),
			strconv.FormatUint(h.Bytes, 10), strconv.Itoa(h.Groups), h.State,
		}
		rows = append(rows, row[:len(rows[0])])
	}
	return a.PrintTable(rows)
}

// stateNames are how a topic stands to a restore, in words.
var stateNames = map[broker.RestoreState]string{
	broker.RestoreAbsent: "not there",
	broker.RestoreBegun:  "begun",
	broker.RestoreDone:   "restored before",
	broker.RestoreOther:  "there, and not from this backup",
}

// notMade is the error of a backup that was not written to a file, by Ctrl-C or for what err says.
func notMade(ctx context.Context, to string, err error) error {
	if ctx.Err() != nil {
		return cli.With(exitInterrupted, status.Errorf(status.Canceled,
			"interrupted: no backup was made, and %s is as it was", to))
	}
	return fmt.Errorf("no backup was made, and %s is as it was: %w", to, err)
}
