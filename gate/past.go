package gate

import (
	"time"

	"callgate/gate/internal/past"
	"callgate/gate/internal/provenance"
	"callgate/internal/jsonx"
	"callgate/internal/secrets"
	"callgate/permissions"
)

// Remember begins the memory of a session, which copies of the judge share. Prompted and Returned fill it.
func (j *Judge) Remember() {
	j.flow, j.secrets = &provenance.Session{}, &secrets.Memory{}
	j.RememberCalls()
}

// RememberCalls begins the memory of calls for rule conditions. Ran fills it.
func (j *Judge) RememberCalls() {
	p := &past.Calls{}
	c := permissions.Circumstances{}
	if j.Session != nil {
		c = *j.Session
	}
	c.Past = p.Each
	j.Session, j.ran = &c, p
}

// Ran makes the judge assume that the session ran the call that long ago. Call RememberCalls first.
func (j *Judge) Ran(call Call, ago time.Duration, failed bool) {
	v, at := j.Judge(call), j.Now.Add(-ago)
	j.ran.Begin(call.ID, v.Analysis, at)
	j.ran.End(call.ID, !failed, at)
}

// Prompted makes the judge assume that the session's user sent the text to the model. Call Remember first.
func (j *Judge) Prompted(text string) {
	j.flow.Prompted(text)
}

// Returned makes the judge assume that the session got result, a JSON value, for the call. Call Remember first.
func (j *Judge) Returned(call Call, result []byte) {
	v := j.Judge(call)
	j.flow.Before(call.ID, call.facts(), v.Analysis)
	j.flow.Saw(call.ID, call.facts(), j.flow.Taken(call.ID), result)
	j.ran.Begin(call.ID, v.Analysis, j.Now)
	j.ran.End(call.ID, !isError(result), j.Now)
	for text := range jsonx.Strings(result) {
		j.secrets.Learn(text, "result of "+call.Tool.Qualified)
	}
}

// isError reports whether a result of a tool says that the call failed.
func isError(result []byte) bool {
	return string(jsonx.At(result, "isError")) == "true"
}
