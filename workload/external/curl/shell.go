package curl

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"wirelab/workload/external/request"
)

// word is a word of a command line, without its quotes.
type word struct {
	text string
	line int
}

// command is one command line.
type command struct {
	words []word
	// piped is what follows the command and reads its reply, such as "| jq"; "": nothing does.
	piped string
}

// shell splits a text as bash does, as far as the commands of a file need it.
type shell struct {
	name string
	text string
	from request.Sources
	pos  int
	line int
	vars map[string]string

	word   strings.Builder
	inWord bool
	begun  int
	out    []command
	now    command
}

// commands returns the commands of a text.
func (s *shell) commands() ([]command, error) {
	for s.line = 1; s.pos < len(s.text); {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.endCommand()
	return s.out, nil
}

func (s *shell) faultf(line int, format string, args ...any) error {
	return request.Faultf(s.name, line, format, args...)
}

// add adds a text to the word that is read.
func (s *shell) add(text string) {
	if !s.inWord {
		s.inWord, s.begun = true, s.line
	}
	s.word.WriteString(text)
}

func (s *shell) endWord() {
	if s.inWord {
		s.now.words = append(s.now.words, word{s.word.String(), s.begun})
		s.word.Reset()
		s.inWord = false
	}
}

func (s *shell) endCommand() {
	s.endWord()
	if len(s.now.words) > 0 && !s.assigns() {
		s.out = append(s.out, s.now)
	}
	s.now = command{}
}

// assigns reports whether the command only sets variables, and sets them.
func (s *shell) assigns() bool {
	words := s.now.words
	if words[0].text == "export" {
		words = words[1:]
	}
	for _, w := range words {
		name, _, assigned := strings.Cut(w.text, "=")
		if _, length := variable(name); !assigned || name == "" || length != len(name) {
			return false
		}
	}
	for _, w := range words {
		name, value, _ := strings.Cut(w.text, "=")
		s.vars[name] = value
	}
	return true
}

// next returns the character after the one at pos; 0 at the end.
func (s *shell) next() byte {
	if s.pos+1 < len(s.text) {
		return s.text[s.pos+1]
	}
	return 0
}

// step reads what begins at pos.
func (s *shell) step() error {
	switch c := s.text[s.pos]; c {
	case ' ', '\t', '\r':
		s.endWord()
	case '\n':
		s.endCommand()
		s.line++
	case ';':
		s.endCommand()
	case '&':
		s.endCommand()
		if s.next() == '&' {
			s.pos++
		}
	case '#':
		if s.inWord {
			s.add("#")
			break
		}
		s.toLineEnd()
		return nil
	case '|':
		s.endWord()
		begin := s.pos
		s.toLineEnd()
		s.now.piped = strings.TrimSpace(s.text[begin:s.pos])
		return nil
	case '>':
		return s.redirect()
	case '<':
		return s.faultf(s.line, "the command reads a file by %q; write -d @FILE", "<")
	case '\\':
		return s.backslash()
	case '\'':
		return s.single()
	case '"':
		return s.double()
	case '`':
		return s.faultf(s.line, "the command runs another in `…`; write what that one prints in its place")
	case '$':
		return s.dollar(false)
	default:
		s.add(s.text[s.pos : s.pos+1])
	}
	s.pos++
	return nil
}

// toLineEnd moves to the end of the line.
func (s *shell) toLineEnd() {
	end := strings.IndexByte(s.text[s.pos:], '\n')
	if end < 0 {
		s.pos = len(s.text)
		return
	}
	s.pos += end
}

// redirect skips where the reply is written to: that changes nothing that is sent.
func (s *shell) redirect() error {
	if s.inWord && strings.Trim(s.word.String(), "0123456789") == "" {
		s.word.Reset()
		s.inWord = false
	}
	s.endWord()
	for s.pos < len(s.text) && strings.IndexByte(">&|", s.text[s.pos]) >= 0 {
		s.pos++
	}
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t') {
		s.pos++
	}
	before := len(s.now.words)
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n;&|<>", s.text[s.pos]) < 0 {
		if err := s.step(); err != nil {
			return err
		}
	}
	s.endWord()
	s.now.words = s.now.words[:before]
	return nil
}

// backslash reads one outside of quotes.
func (s *shell) backslash() error {
	rest := s.text[s.pos+1:]
	switch {
	case strings.HasPrefix(rest, "\r\n"):
		s.pos, s.line = s.pos+3, s.line+1
	case strings.HasPrefix(rest, "\n"):
		s.pos, s.line = s.pos+2, s.line+1
	case rest == "":
		s.pos++
	default:
		// A space after the backslash of a continued line is a copying mistake.
		blank := strings.TrimLeft(rest, " \t")
		if len(blank) < len(rest) && strings.HasPrefix(strings.TrimPrefix(blank, "\r"), "\n") {
			return s.faultf(s.line, "a space follows the backslash at the end of the line; delete the space")
		}
		s.add(rest[:1])
		s.pos += 2
	}
	return nil
}

func (s *shell) single() error {
	end := strings.IndexByte(s.text[s.pos+1:], '\'')
	if end < 0 {
		return s.faultf(s.line, "the quote ' is never closed; add one, or write '\\'' for one inside of the quotes")
	}
	text := s.text[s.pos+1 : s.pos+1+end]
	s.add(text)
	s.line += strings.Count(text, "\n")
	s.pos += end + 2
	return nil
}

func (s *shell) double() error {
	begun := s.line
	s.add("")
	for s.pos++; s.pos < len(s.text); {
		switch c := s.text[s.pos]; c {
		case '"':
			s.pos++
			return nil
		case '\\':
			switch n := s.next(); n {
			case '\n':
				s.line++
				s.pos++
			case '"', '\\', '$', '`':
				s.add(string(n))
				s.pos++
			default:
				s.add(`\`)
			}
		case '$':
			if err := s.dollar(true); err != nil {
				return err
			}
			continue
		case '`':
			return s.faultf(s.line, "the command runs another in `…`; write what that one prints in its place")
		default:
			if c == '\n' {
				s.line++
			}
			s.word.WriteByte(c)
		}
		s.pos++
	}
	return s.faultf(begun, `the quote " is never closed; add one, or write \" for one inside of the quotes`)
}

// dollar reads what begins with a dollar sign.
func (s *shell) dollar(quoted bool) error {
	rest := s.text[s.pos+1:]
	switch {
	case !quoted && strings.HasPrefix(rest, "'"):
		return s.ansi()
	case !quoted && strings.HasPrefix(rest, `"`):
		s.pos++
		return s.double()
	case strings.HasPrefix(rest, "("):
		return s.faultf(s.line, "the command runs another in $(…); write what that one prints in its place")
	}
	name, length := variable(rest)
	if name == "" {
		if strings.HasPrefix(rest, "{") {
			return s.faultf(s.line, "${…} has more in it than a name; write the value in its place")
		}
		s.add("$")
		s.pos++
		return nil
	}
	value, known := s.vars[name]
	if !known {
		value, known = s.from.Variable(name)
	}
	if !known {
		return s.faultf(s.line, "the variable $%s is not set; set it, or write '$%[1]s' if it is text", name)
	}
	s.pos += 1 + length
	if quoted {
		s.add(value)
		return nil
	}
	// The shell splits such a value into words, at spaces.
	for i, part := range strings.FieldsFunc(value, unicode.IsSpace) {
		if i > 0 {
			s.endWord()
		}
		s.add(part)
	}
	return nil
}

// variable returns the name that follows a dollar sign, and its length with the braces.
func variable(text string) (name string, length int) {
	braced := strings.HasPrefix(text, "{")
	if braced {
		text = text[1:]
	}
	end := 0
	for end < len(text) && (text[end] == '_' || isLetter(text[end]) || end > 0 && isDigit(text[end])) {
		end++
	}
	switch {
	case !braced:
		return text[:end], end
	case end < len(text) && text[end] == '}':
		return text[:end], end + 2
	}
	return "", 0
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// escapes are the ones of $'…' that are one character.
var escapes = map[byte]string{
	'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
	'\\': "\\", '\'': "'", '"': "\"", '?': "?",
}

// ansi reads $'…'.
func (s *shell) ansi() error {
	begun := s.line
	s.add("")
	for s.pos += 2; s.pos < len(s.text); {
		c := s.text[s.pos]
		s.pos++
		switch {
		case c == '\'':
			return nil
		case c == '\\' && s.pos < len(s.text):
			s.escape()
		default:
			if c == '\n' {
				s.line++
			}
			s.word.WriteByte(c)
		}
	}
	return s.faultf(begun, `the quote $' is never closed; add ' at its end`)
}

// escape reads what follows a backslash in $'…'.
func (s *shell) escape() {
	c := s.text[s.pos]
	s.pos++
	if text, simple := escapes[c]; simple {
		s.word.WriteString(text)
		return
	}
	number := func(most, base int) (uint64, bool) {
		end := s.pos
		for end < len(s.text) && end < s.pos+most && digit(s.text[end]) < base {
			end++
		}
		n, err := strconv.ParseUint(s.text[s.pos:end], base, 64)
		s.pos = end
		return n, err == nil
	}
	switch {
	case c == 'x':
		if n, ok := number(2, 16); ok {
			s.word.WriteByte(byte(n))
			return
		}
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if n, ok := number(most, 16); ok {
			s.word.WriteString(s.character(n))
			return
		}
	case c >= '0' && c <= '7':
		s.pos--
		n, _ := number(3, 8)
		s.word.WriteByte(byte(n))
		return
	}
	if c == '\n' {
		s.line++
	}
	s.word.WriteByte('\\')
	s.word.WriteByte(c)
}

// digit returns the value of a digit; 16: it is none.
func digit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 16
}

// character returns the one of a number. Browsers write those beyond 16 bits as two halves.
func (s *shell) character(n uint64) string {
	const half = `\u`
	if n >= 0xd800 && n < 0xdc00 && strings.HasPrefix(s.text[s.pos:], half) && len(s.text) >= s.pos+6 {
		low, err := strconv.ParseUint(s.text[s.pos+2:s.pos+6], 16, 32)
		if err == nil && low >= 0xdc00 && low < 0xe000 {
			s.pos += 6
			n = 0x10000 + (n-0xd800)<<10 + (low - 0xdc00)
		}
	}
	if n > unicode.MaxRune {
		n = utf8.RuneError
	}
	return string(rune(n))
}
