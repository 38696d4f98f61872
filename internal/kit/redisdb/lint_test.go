package redisdb

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The linter forbids methods of go-redis by patterns. This test checks the patterns; `make lint`
// applies them to the program.
func TestTheLinterForbidsDangerousCommands(t *testing.T) {
	text, err := os.ReadFile("../../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []*regexp.Regexp
	for _, m := range regexp.MustCompile(`(?m)- pattern: (\^redis\S+)$`).FindAllSubmatch(text, -1) {
		patterns = append(patterns, regexp.MustCompile(string(m[1])))
	}
	forbidden := func(method string) bool {
		for _, p := range patterns {
			if p.MatchString("redis.UniversalClient."+method) && p.MatchString("redis.Pipeliner."+method) {
				return true
			}
		}
		return false
	}
	dangerous := `Keys HGetAll HKeys HVals SMembers SMembersMap XRange XRevRange Sort SortRO SortStore SortInterfaces
		FlushAll FlushAllAsync FlushDB FlushDBAsync ScriptFlush FunctionFlush Select Move Monitor DebugObject Save BgSave BgRewriteAOF
		Shutdown ShutdownSave ShutdownNoSave SlaveOf ConfigSet ConfigRewrite ConfigResetStat Del`
	clients := []reflect.Type{reflect.TypeFor[*redis.Client](), reflect.TypeFor[redis.Pipeliner](), reflect.TypeFor[*redis.Conn]()}
	for method := range strings.FieldsSeq(dangerous) {
		if !forbidden(method) {
			t.Errorf("%s is not forbidden", method)
		}
		known := false
		for _, c := range clients {
			_, ok := c.MethodByName(method)
			known = known || ok
		}
		if !known {
			t.Errorf("go-redis has no method %s: find its new name", method)
		}
	}
	for _, method := range []string{"Get", "Unlink", "HMGet", "HScan", "SScan", "XRangeN", "ConfigGet", "SetArgs", "MoveSlot"} {
		if forbidden(method) {
			t.Errorf("%s is forbidden", method)
		}
	}
}
