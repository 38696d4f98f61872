import { Link } from 'wouter'

import css from './Chips.module.css'

interface TabsProps {
  /** Accessible name. */
  readonly label: string
  readonly tabs: readonly { readonly href: string; readonly text: string }[]
  /** `href` of the current tab. */
  readonly current: string
}

/** Links to the parts of a screen. They replace each other in the history. */
export function Tabs({ label, tabs, current }: TabsProps) {
  return (
    <nav aria-label={label}>
      <ul className={css.chips}>
        {tabs.map(({ href, text }) => (
          <li key={href}>
            <Link href={href} replace aria-current={href === current ? 'true' : undefined}>
              {text}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
