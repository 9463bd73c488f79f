package trial

import (
	"fmt"
	"strconv"
	"strings"

	"wirelab/lab/audit"
)

// printer prints to a terminal.
type printer interface {
	Printf(format string, args ...any) error
	PrintTable(rows [][]string) error
}

// Print prints an audit for people.
func Print(a printer, done Audited) error {
	if err := a.Printf("%s against %s\n\n", askedText(done), servedText(done)); err != nil {
		return err
	}
	if len(done.Rows) > 0 {
		if err := a.PrintTable(auditRows(done)); err != nil {
			return err
		}
		if err := a.Printf("\n"); err != nil {
			return err
		}
	}
	if err := a.Printf("%s\n", done.Sentence); err != nil {
		return err
	}
	for _, n := range done.Notes {
		if err := a.Printf("%s\n", n); err != nil {
			return err
		}
	}
	if len(done.Report.Remarks) > 0 {
		return a.Printf("Its own warnings: %s.\n", strings.Join(done.Report.Remarks, "; "))
	}
	return nil
}

// askedText says what the tool was asked for.
func askedText(done Audited) string {
	asked := done.Asked
	text := done.Tool
	switch {
	case done.Planned > 0 && asked.Rate > 0:
		text += fmt.Sprintf(", asked for %d requests at %s a second,", done.Planned, number(asked.Rate))
	case done.Planned > 0:
		text += fmt.Sprintf(", asked for %d requests,", done.Planned)
	case asked.Rate > 0:
		text += fmt.Sprintf(", asked for %s requests a second,", number(asked.Rate))
	default:
		text += ", asked for no rate,"
	}
	return text
}

// servedText says which service the tool was run against.
func servedText(done Audited) string {
	words := strings.Fields(done.Inject)
	if len(words) == 4 && words[0] == "frozen" {
		return fmt.Sprintf("a service over %s that answers in %s but stops for the last %s of every %s",
			done.Protocol, words[1], words[2], words[3])
	}
	return fmt.Sprintf("a service over %s that is made to be %q", done.Protocol, done.Inject)
}

// auditRows returns the table. Each row compares one number of the tool with the truth.
func auditRows(done Audited) [][]string {
	rows := [][]string{{"", done.Tool + " says", "truth", "ratio", "control client", ""}}
	for _, r := range done.Rows {
		says, ratio, controlClient := "-", "", "-"
		if r.Says != nil {
			says, ratio = audit.Short(*r.Says), ratioText(r.Ratio())
		}
		if r.ControlClient != nil {
			controlClient = audit.Short(*r.ControlClient)
		}
		rows = append(rows, []string{r.Name, says, audit.Short(r.Truth), ratio, controlClient, string(r.Standing)})
	}
	sent, planned := "-", "-"
	if n := done.Report.Count; n != nil {
		sent = strconv.FormatUint(*n, 10)
	}
	ratio := ""
	if done.Planned > 0 {
		planned = strconv.FormatUint(done.Planned, 10)
		if done.Report.Count != nil {
			ratio = ratioText(float64(*done.Report.Count) / float64(done.Planned))
		}
	}
	rows = append(rows, []string{"requests", sent, planned, ratio})
	if done.Report.Rate != nil {
		wanted := "-"
		ratio := ""
		if done.Asked.Rate > 0 {
			wanted, ratio = number(done.Asked.Rate)+"/s", ratioText(*done.Report.Rate/done.Asked.Rate)
		}
		rows = append(rows, []string{"rate", number(*done.Report.Rate) + "/s", wanted, ratio})
	}
	for i := range rows {
		rows[i] = trimRow(rows[i])
	}
	return rows
}

// trimRow drops empty cells at the end, which would print as spaces.
func trimRow(row []string) []string {
	for len(row) > 1 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	return row
}

// ratioText formats a ratio with two significant digits.
func ratioText(f float64) string { return strconv.FormatFloat(f, 'g', 2, 64) }

// number formats a rate with at most four significant digits.
func number(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// PrintMarkdown prints the head of a table, and a row each for the truth, the control client and the tool. The tool's
// row has its command as it was typed. To make one table of many tools, leave out the other heads.
func PrintMarkdown(a printer, done Audited, typed string) error {
	head, rule := []string{"tool"}, []string{"---"}
	truth, controlClient, says := []string{"**truth**"}, []string{"control client"},
		[]string{"`" + strings.ReplaceAll(typed, "|", `\|`) + "`"}
	for _, r := range done.Rows {
		head, rule = append(head, r.Name), append(rule, "---:")
		truth = append(truth, audit.Short(r.Truth))
		said := "–"
		if r.Says != nil {
			said = audit.Short(*r.Says)
		}
		if r.Standing == audit.TooLow || r.Standing == audit.TooHigh {
			said = "**" + said + "**"
		}
		says = append(says, said)
		if r.ControlClient != nil {
			controlClient = append(controlClient, audit.Short(*r.ControlClient))
		} else {
			controlClient = append(controlClient, "–")
		}
	}
	head, rule = append(head, "requests", "verdict"), append(rule, "---:", "---")
	sent, planned := "–", "–"
	if done.Report.Count != nil {
		sent = strconv.FormatUint(*done.Report.Count, 10)
	}
	if done.Planned > 0 {
		planned = strconv.FormatUint(done.Planned, 10)
	}
	witnessed := "–"
	if done.ControlClient != nil {
		witnessed = strconv.FormatUint(*done.ControlClient.Count, 10)
	}
	truth, controlClient = append(truth, planned, ""), append(controlClient, witnessed, "")
	says = append(says, sent, strings.Join(append([]string{done.Sentence}, done.Notes...), " "))
	for _, row := range [][]string{head, rule, truth, controlClient, says} {
		if err := a.Printf("| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}
