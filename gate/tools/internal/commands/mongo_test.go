package commands

import (
	"strings"
	"testing"

	"callgate/permissions"
)

func TestMongo(t *testing.T) {
	for value, want := range map[string]permissions.Risk{
		`{"country":"DE","age":{"$gte":18}}`: permissions.ReadOnly,
		`[{"$match":{"active":true}},{"$group":{"_id":"$country","n":{"$sum":1}}},{"$sort":{"n":-1}}]`:                permissions.ReadOnly,
		`[{"$lookup":{"from":"x","pipeline":[{"$match":{"$expr":{"$eq":["$a","$$b"]}}}],"as":"y"}},{"$unwind":"$y"}]`: permissions.ReadOnly,
		`"[{\"$match\":{}}]"`:                                         permissions.ReadOnly,
		`{"_id":{"$oid":"64b7f0"},"note":"$out of stock"}`:            permissions.ReadOnly,
		`[{"$match":{}},{"$out":"users"}]`:                            permissions.Destructive,
		`[{"$merge":{"into":"users"}}]`:                               permissions.Destructive,
		`"[{\"$out\":\"users\"}]"`:                                    permissions.Destructive,
		`[{"$facet":{"a":[{"$merge":"users"}]}}]`:                     permissions.Destructive,
		`{"$where":"while(1){}"}`:                                     permissions.Unknown,
		`{"$or":[{"a":1},{"$where":"sleep(9)"}]}`:                     permissions.Unknown,
		`[{"$addFields":{"x":{"$function":{"body":"f()"}}}}]`:         permissions.Unknown,
		`[{"$group":{"_id":1,"x":{"$accumulator":{}}}}]`:              permissions.Unknown,
		`[{"$currentOp":{"allUsers":true}}]`:                          permissions.Unknown,
		`[{"$invented":1}]`:                                           permissions.Unknown,
		`"db.users.drop()"`:                                           permissions.Unknown,
		`"[{'$out': 'users'}]"`:                                       permissions.Unknown,
		`{"a":`:                                                       permissions.Unknown,
		strings.Repeat(`{"a":`, 120) + "1" + strings.Repeat("}", 120): permissions.Unknown,
		`5`:  permissions.ReadOnly,
		`{}`: permissions.ReadOnly,
	} {
		if got := Mongo([]byte(value)); got != want {
			t.Errorf("%s: %v, want %v", value, got, want)
		}
	}
}
