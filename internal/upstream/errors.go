package upstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/lazyregexp"
)

// DownError is returned if a server is not running, or stopped before it answered.
type DownError struct {
	Server  string
	Reason  string    // a clause: "exit status 1", "cannot start: …"
	Stderr  []string  // the last lines that the server wrote to stderr, without control characters
	RetryAt time.Time // when a use may start it again; zero if never
	Err     error     // the underlying error; may be nil

	missing string // the variable that the server says it needs, or ""
}

func (e *DownError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %q is down: %s", e.Server, e.Reason)
	if wait := time.Until(e.RetryAt); wait > 0 {
		fmt.Fprintf(&b, " (it may be tried again in %v)", wait.Round(10*time.Millisecond))
	}
	return b.String()
}

func (e *DownError) Unwrap() error { return e.Err }

// UnsentError says why a request was not sent. The server has seen nothing of it.
type UnsentError struct{ Err error }

func (e *UnsentError) Error() string { return e.Err.Error() }
func (e *UnsentError) Unwrap() error { return e.Err }

// downError returns the error for an attempt that ended with err. in is nil if nothing was started.
func (u *Upstream) downError(err error, in *incarnation) *DownError {
	if u.ctx.Err() != nil {
		return u.closedError()
	}
	down := &DownError{Server: u.cfg.Name, Reason: err.Error(), Err: err}
	if isAuth(err) && u.cfg.terms.Login != nil {
		down.Reason += fmt.Sprintf(": sign in with \"callgate login %s\"", u.cfg.Name)
	} else if isAuth(err) {
		down.Reason += ": it does not accept the Authorization header of the configuration"
	}
	if in != nil {
		down.Stderr = in.link.lastWords()
		down.missing = u.cfg.missing(down.Stderr)
	}
	return down
}

func (u *Upstream) closedError() *DownError {
	return &DownError{Server: u.cfg.Name, Reason: "closed", Err: context.Canceled}
}

// explainedLines is how many of a server's last lines an explanation includes.
const explainedLines = 5

// trace matches a line that Node.js or Python writes around an error without saying its cause: a place in the code, the
// error's members, the version.
var trace = lazyregexp.New(`^\s*(?:at \S.*|File ".*", line \d+.*|Traceback \(most recent call last\):|node:\S+:\d+|Node\.js v\S+|throw err;|code: '\w+',?|requireStack: \[.*|[\^~]+|[{}\]]+|)$`)

// Explain returns why the server is down, with its last output and what can be done. It is for people, not for models,
// because a server may write anything.
func (e *DownError) Explain() string {
	text := e.Reason
	said := slices.DeleteFunc(slices.Clone(e.Stderr), trace.MatchString)
	if last := said[max(0, len(said)-explainedLines):]; len(last) > 0 {
		text += "; it wrote: " + strings.Join(last, " / ")
	}
	if e.missing != "" {
		text += fmt.Sprintf("; callgate gives servers a clean environment: add %s to env of server %q", e.missing, e.Server)
	}
	return text
}

var (
	variableName = `['"\x60$]*\{?([A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z]{3,}[A-Z0-9]*)\}?['"\x60]*`
	// missingVariable finds the variable that a program complains about.
	missingVariable = []*lazyregexp.Regexp{
		lazyregexp.New(variableName + `(?: environment variable| env var| variable)?(?: is| was| must be| needs to be| has to be| are|:)? (?:not (?:set|defined|found|provided|configured)|unset|undefined|required|missing|empty|set|provided)\b`),
		lazyregexp.New(`(?i:missing|required|undefined|unset|no|set|provide|need)(?i: the| a| an| required)?(?i: environment| env)?(?i: variables?| var)?(?i: named)?:? ` + variableName),
		lazyregexp.New(`^KeyError: ` + variableName),
	}
)

// missing returns the variable that the server's last words call missing, if the server was not given it, or "".
func (c *Config) missing(lines []string) string {
	for _, line := range slices.Backward(lines) {
		for _, pattern := range missingVariable {
			m := pattern.FindStringSubmatch(line)
			if m == nil || c.InheritEnv || slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, m[1]+"=") }) {
				continue
			}
			if !slices.Contains([]string{"ERROR", "FATAL", "WARNING", "WARN", "INFO", "DEBUG", "JSON", "HTTP", "HTTPS", "URL", "API", "PATH", "MCP", "ENOENT", "EACCES", "NOT", "MUST", "REQUIRED"}, m[1]) {
				return m[1]
			}
		}
	}
	return ""
}
