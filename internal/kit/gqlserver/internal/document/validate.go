package document

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// ruleSet returns the validation rules of the specification, in a fixed order. Rules
// that suggest names reveal the schema, so suggest must be false if it is hidden.
func ruleSet(suggest bool) []core.Rule {
	all := []core.Rule{
		rules.FragmentsOnCompositeTypesRule, rules.KnownDirectivesRule, rules.KnownFragmentNamesRule, rules.KnownRootTypeRule,
		rules.LoneAnonymousOperationRule, rules.MaxIntrospectionDepth, rules.NoFragmentCyclesRule, rules.NoUndefinedVariablesRule,
		rules.NoUnusedFragmentsRule, rules.NoUnusedVariablesRule, rules.OverlappingFieldsCanBeMergedRule, rules.PossibleFragmentSpreadsRule,
		rules.ProvidedRequiredArgumentsRule, rules.SingleFieldSubscriptionsRule, rules.UniqueArgumentNamesRule,
		rules.UniqueDirectivesPerLocationRule, rules.UniqueFragmentNamesRule, rules.UniqueInputFieldNamesRule, rules.UniqueOperationNamesRule,
		rules.UniqueVariableNamesRule, rules.VariablesAreInputTypesRule, rules.VariablesInAllowedPositionRule,
		subscriptionRootRule(),
	}
	if suggest {
		return append(
			all, rules.FieldsOnCorrectTypeRule, rules.KnownArgumentNamesRule, rules.KnownTypeNamesRule,
			rules.ScalarLeafsRule, rules.ValuesOfCorrectTypeRule,
		)
	}
	return append(
		all, rules.FieldsOnCorrectTypeRuleWithoutSuggestions, rules.KnownArgumentNamesRuleWithoutSuggestions, rules.KnownTypeNamesRuleWithoutSuggestions,
		rules.ScalarLeafsRuleWithoutSuggestions, rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
	)
}

// subscriptionRootRule rejects @skip and @include at the root of a subscription, which
// must always have one field. The GraphQL specification has this rule since
// graphql/graphql-spec#860; gqlparser does not.
func subscriptionRootRule() core.Rule {
	return core.Rule{Name: "SubscriptionRootDirectives", RuleFunc: func(observers *core.Events, addError core.AddErrFunc) {
		observers.OnOperation(func(_ *core.Walker, op *ast.OperationDefinition) {
			if op.Operation != ast.Subscription {
				return
			}
			seen := map[*ast.FragmentDefinition]bool{}
			var check func(ast.SelectionSet)
			check = func(selections ast.SelectionSet) {
				for _, selection := range selections {
					for _, d := range directivesOf(selection) {
						if d.Name == "skip" || d.Name == "include" {
							addError(core.Message("@%s is not allowed on the root field of a subscription.", d.Name), core.At(d.Position))
						}
					}
					switch s := selection.(type) {
					case *ast.InlineFragment:
						check(s.SelectionSet)
					case *ast.FragmentSpread:
						if s.Definition != nil && !seen[s.Definition] {
							seen[s.Definition] = true
							check(s.Definition.SelectionSet)
						}
					}
				}
			}
			check(op.SelectionSet)
		})
	}}
}

func directivesOf(selection ast.Selection) ast.DirectiveList {
	switch s := selection.(type) {
	case *ast.Field:
		return s.Directives
	case *ast.InlineFragment:
		return s.Directives
	case *ast.FragmentSpread:
		return s.Directives
	}
	return nil
}

// errLimitReached ends a walk when the limit of errors is reached.
type errLimitReached struct{}

// validate walks the document once, with all rules at every node. It returns at most
// limit errors; a negative limit means no limit.
func validate(schema *ast.Schema, doc *ast.QueryDocument, ruleSet []core.Rule, limit int) (errs gqlerror.List) {
	defer func() {
		if p := recover(); p != nil && p != (errLimitReached{}) {
			panic(p)
		}
	}()
	events := &core.Events{}
	for _, rule := range ruleSet {
		rule.RuleFunc(events, func(options ...core.ErrorOption) {
			err := &gqlerror.Error{Rule: rule.Name}
			for _, o := range options {
				o(err)
			}
			err.Message = errcode.Truncate(err.Message)
			err.Extensions = map[string]any{"code": errcode.ValidationFailed}
			errs = append(errs, err)
			if len(errs) == limit {
				panic(errLimitReached{})
			}
		})
	}
	validator.Walk(schema, doc, events)
	return errs
}
