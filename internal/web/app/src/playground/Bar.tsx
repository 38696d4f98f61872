import { useEditorContext } from '@graphiql/react'
import { useEffect, useState } from 'react'
import { createPortal, flushSync } from 'react-dom'

import { isolate } from '@/i18n/isolate'
import { demoLogins, type DemoLogin } from '@/session/demo'

import { examples, type Example } from './examples'
import { resume, signIn, signOut, type User } from './session'

/**
 * The bar above GraphiQL: title, examples and session. It renders inside GraphiQL to access its
 * editors, and portals into the page header.
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
    // A new tab starts empty. It must render before the editors are filled.
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
  const [user, setUser] = useState<User | null>(null)
  const [logins, setLogins] = useState<readonly DemoLogin[]>([])
  const [error, setError] = useState('')

  useEffect(() => {
    void demoLogins().then(setLogins)
    void resume().then(setUser)
  }, [])

  async function switchTo(signInOrOut: () => Promise<User | null>) {
    try {
      setError('')
      setUser(await signInOrOut())
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason))
    }
  }

  return (
    <div className="bar-group bar-session">
      <output aria-label="Account">
        {error ||
          (user ? `${isolate(user.nickname)}, ${user.role.toLowerCase()}` : 'Not signed in')}
      </output>
      {user ? (
        <button
          type="button"
          onClick={() =>
            void switchTo(async () => {
              await signOut()
              return null
            })
          }
        >
          Sign out
        </button>
      ) : (
        logins.length > 0 && (
          <div className="bar-group" role="group" aria-label="Demo accounts">
            <span aria-hidden="true">Sign in as demo</span>
            {logins.map((login) => (
              <button
                key={login.phone}
                type="button"
                aria-label={`Sign in as demo ${login.role.toLowerCase()}`}
                onClick={() => void switchTo(() => signIn(login))}
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
