import { useEditorContext } from '@graphiql/react'
import { useEffect, useState } from 'react'
import { createPortal, flushSync } from 'react-dom'

import { isolate } from '@/i18n/isolate'
import { demoLogins, type DemoLogin } from '@/session/demo'

import { examples, type Example } from './examples'
import { resume, signIn, signOut, type Somebody } from './session'

/**
 * What the playground has above GraphiQL: its name, examples, and who is signed in. It
 * is rendered inside GraphiQL, whose editors it fills, and shown in another place.
 */
export function Bar({ into }: { into: HTMLElement }) {
  return createPortal(
    <>
      <h1>Tandian playground</h1>
      <Examples />
      <Session />
    </>,
    into,
  )
}

function Examples() {
  const { addTab, queryEditor, variableEditor } = useEditorContext({ nonNull: true })
  const [chosen, setChosen] = useState(0)

  function open({ text, variables }: Example) {
    // A new tab is empty: the editors show it before they are filled.
    flushSync(addTab)
    queryEditor?.setValue(text)
    variableEditor?.setValue(variables)
  }

  return (
    <form
      className="bar-group"
      onSubmit={(event) => {
        event.preventDefault()
        const example = examples[chosen]
        if (example) open(example)
      }}
    >
      <label htmlFor="example">Example</label>
      <select
        id="example"
        value={chosen}
        onChange={(event) => setChosen(Number(event.target.value))}
      >
        {examples.map(({ title }, i) => (
          <option key={title} value={i}>
            {title}
          </option>
        ))}
      </select>
      <button type="submit">Open in a new tab</button>
    </form>
  )
}

function Session() {
  const [who, setWho] = useState<Somebody | null>(null)
  const [logins, setLogins] = useState<readonly DemoLogin[]>([])
  const [trouble, setTrouble] = useState('')

  useEffect(() => {
    void demoLogins().then(setLogins)
    void resume().then(setWho)
  }, [])

  async function become(whom: () => Promise<Somebody | null>) {
    try {
      setTrouble('')
      setWho(await whom())
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error))
    }
  }

  return (
    <div className="bar-group bar-session">
      <output aria-label="Signed in">
        {trouble ||
          (who ? `${isolate(who.nickname)}, ${who.role.toLowerCase()}` : 'Nobody is signed in')}
      </output>
      {who ? (
        <button
          type="button"
          onClick={() =>
            void become(async () => {
              await signOut()
              return null
            })
          }
        >
          Sign out
        </button>
      ) : (
        logins.length > 0 && (
          <div className="bar-group" role="group" aria-label="Accounts to try">
            <span aria-hidden="true">Sign in as demo</span>
            {logins.map((login) => (
              <button
                key={login.phone}
                type="button"
                aria-label={`Sign in as demo ${login.role.toLowerCase()}`}
                onClick={() => void become(() => signIn(login))}
              >
                {login.role.toLowerCase()}
              </button>
            ))}
          </div>
        )
      )}
    </div>
  )
}
