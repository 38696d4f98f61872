/** The query in a new visitor's first tab: shops near the centre of the demo town. */
export const firstQuery = `# Shops within 1000 metres of the demo town's centre.
# To sign in, add your token under Headers:
# { "Authorization": "Bearer TOKEN" }
query ShopsNearby {
  shops(
    near: { lat: 30.2448, lng: 120.1510, radius: 1000 }
    first: 5
  ) {
    edges {
      distance # metres
      node {
        name
        address
        score
        type {
          name
        }
      }
    }
  }
}
`
