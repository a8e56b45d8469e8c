package gate

import (
	"callgate/internal/jsonx"
	"callgate/internal/secrets"
)

// Remember begins the memory of a session, which copies of the judge share. Prompted and Returned fill it.
func (j *Judge) Remember() { j.flow, j.secrets = &provenance{}, &secrets.Memory{} }

// Prompted makes the judge judge as for a session whose user said the text to the model.
func (j *Judge) Prompted(text string) {
	j.flow.prompted(text)
}

// Returned makes the judge judge as for a session that got the result, a JSON value, for the call before.
func (j *Judge) Returned(call Call, result []byte) {
	v := j.Judge(call)
	j.flow.before(call, v.Analysis)
	j.flow.saw(call, j.flow.taken(call), result)
	for text := range jsonx.Strings(result) {
		j.secrets.Learn(text, "result of "+call.Tool.Qualified)
	}
}
